import { batched, type Database } from '@valetkey/service-kit'
import { AUTHORIZATION_GENERATION, NOT_OVER } from './authorization-generation.js'
import { IS_LIVE, IS_USE_DUE, sessionKey } from './live-session.js'
import { remainingScope } from './remaining-scope.js'
import { usableBy } from './usable-by.js'

/** A session, and the client and API of the authorization request that it serves. */
export type SessionAndClient = {
  /** A session that has ended allows nothing. */
  sessionHash: string
  clientId: string
  /** The API of the request. */
  audience: string
}

/** Generations at Allow. The exchange compares them, so that an ending between the two makes the code worthless. */
export type AllowedGenerations = { clientGeneration: number; authorizationGeneration: number }

/** What the user of a session allows a client for one API. */
export type Allowance = {
  userId: string
  userGeneration: number
  /** As in `FoundSession`. */
  isUseDue: boolean
  /** As in `FoundSession`, in milliseconds since 1970. */
  authenticatedAt: number | undefined
  /** Empty if no remembered consent counts. */
  rememberedScope: readonly string[]
  /** Optional scopes that the user left out. */
  declinedScope: readonly string[]
  /** When the remembered consent ends, in milliseconds since 1970. Undefined: the user chose no end. */
  rememberedUntil: number | undefined
  /** Undefined if the client is disabled, deleted, or not published and the user neither owns nor tests it. */
  generations: AllowedGenerations | undefined
}

type Row = {
  number: number
  user_id: string
  user_generation: number
  is_use_due: boolean
  authenticated_at: number | null
  client_generation: number | null
  authorization_generation: number | null
  decided_scope: string[]
  declined: string[] | null
  ends_at: number | null
}

/** Reads what users allow. Concurrent requests share one statement, which writes nothing. */
export function createAllowanceStore(database: Database, onBatch?: (size: number) => void) {
  async function readAll(all: readonly SessionAndClient[]): Promise<readonly (Allowance | undefined)[]> {
    const rows = await database.query<Row>({ name: 'read_allowance', text: TEXT, values: [JSON.stringify(all)] })
    const found: (Allowance | undefined)[] = all.map(() => undefined)
    for (const row of rows) found[row.number - 1] = toAllowance(row)
    return found
  }

  return {
    /** @returns undefined if the session has ended, or its user is disabled or deleted */
    read: batched(readAll, { onBatch, eachAloneWhenRefused: true })
  }
}

export type AllowanceStore = ReturnType<typeof createAllowanceStore>

function toAllowance(row: Row): Allowance {
  const { client_generation: clientGeneration, authorization_generation: authorizationGeneration } = row
  const isDeclined = (name: string): boolean => row.declined?.includes(name) === true
  const isClientEnabled = clientGeneration !== null && authorizationGeneration !== null
  return {
    userId: row.user_id,
    userGeneration: row.user_generation,
    isUseDue: row.is_use_due,
    authenticatedAt: row.authenticated_at ?? undefined,
    rememberedScope: row.decided_scope.filter((name) => !isDeclined(name)),
    declinedScope: row.decided_scope.filter(isDeclined),
    rememberedUntil: row.ends_at === null ? undefined : Math.round(row.ends_at),
    generations: isClientEnabled ? { clientGeneration, authorizationGeneration } : undefined
  }
}

const TEXT = `select a.number::integer, u.user_id, u.generation as user_generation, ${IS_USE_DUE} as is_use_due,
    date_part('epoch', s.authenticated_at) * 1000 as authenticated_at, c.generation as client_generation,
    ${AUTHORIZATION_GENERATION} as authorization_generation,
    case when r.authorization_generation = ${AUTHORIZATION_GENERATION} and ${NOT_OVER}
      then coalesce(remaining.scope, '{}') else '{}' end as decided_scope,
    r.declined, date_part('epoch', r.ends_at) * 1000 as ends_at
  from rows from (json_to_recordset($1) as ("sessionHash" text, "clientId" text, "audience" text))
    with ordinality as a (session_hash, client_id, audience, number)
  join sessions s on s.session_hash = ${sessionKey('a.session_hash')} and ${IS_LIVE}
  join users u on u.user_id = s.user_id and u.disabled_at is null
  left join clients c on c.client_id = a.client_id and c.disabled_at is null and (c.published or ${usableBy('u.user_id')})
  left join authorizations n on n.user_id = u.user_id and n.client_id = c.client_id
  left join consents r on r.user_id = u.user_id and r.client_id = c.client_id and r.audience = a.audience
  ${remainingScope('r', 'r.scope || r.declined')}`
