import { type Database, defineStatement } from '@valetkey/service-kit'
import { AUTHORIZED, BY_GENERATIONS } from '../../storage/postgres/authorization-generation.js'
import { GRANT_EXPIRES_AT } from '../../storage/postgres/grant-expires-at.js'
import type { AuthorizationDetail } from '../../storage/redis/code-record.js'

/** A choice that gives a client access now. */
export type ChosenAccess = Pick<AuthorizationDetail, 'type' | 'identifier'> & {
  userId: string
  clientId: string
  audience: string
}

/** Live grants with this choice. */
const WITH_CHOICE = `from grants g ${BY_GENERATIONS}
    where ${AUTHORIZED} and g.user_id = :userId and g.client_id = :clientId and g.audience = :audience
      and g.redeemed_at is not null and g.ended_at is null and ${GRANT_EXPIRES_AT} > now()
      and g.authorization_details @> jsonb_build_array(jsonb_build_object('type', :type::text, 'identifier', :identifier::text))`

const findChoice = defineStatement('find_choice', `select 1 as found ${WITH_CHOICE} limit 1`)

// Locked in the order of their codes, as by every statement that locks several grants.
const describeChoice = defineStatement(
  'describe_choice',
  `with locked as (
    select g.grant_id ${WITH_CHOICE} order by g.code_hash for no key update of g
  )
  update grants g set authorization_details = (
    select jsonb_agg(case when d.detail ->> 'type' = :type and d.detail ->> 'identifier' = :identifier
      then d.detail || jsonb_build_object('summary', :summary::text) else d.detail end order by d.position)
    from jsonb_array_elements(g.authorization_details) with ordinality as d (detail, position))
  from locked where g.grant_id = locked.grant_id
  returning g.grant_id`
)

/** What users chose, in the grants of their apps. */
export function createChosenGrantStore(database: Database) {
  return {
    /** Whether the user exists and is not disabled. */
    async isUser(userId: string): Promise<boolean> {
      const text = 'select 1 as found from users where user_id = $1 and disabled_at is null'
      return (await database.query({ name: 'find_enabled_user', text, values: [userId] })).length > 0
    },

    /** Whether the choice gives access now. */
    async exists({ userId, clientId, audience, type, identifier }: ChosenAccess): Promise<boolean> {
      return (await database.query(findChoice({ userId, clientId, audience, type, identifier }))).length > 0
    },

    /** Stores another summary in each grant with this choice. @returns false if none gives access */
    async describe({ userId, clientId, audience, type, identifier }: ChosenAccess, summary: string): Promise<boolean> {
      const values = { userId, clientId, audience, type, identifier, summary }
      return (await database.query(describeChoice(values))).length > 0
    }
  }
}

export type ChosenGrantStore = ReturnType<typeof createChosenGrantStore>
