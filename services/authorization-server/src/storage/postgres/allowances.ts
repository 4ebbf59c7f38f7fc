import { batched, type Database } from '@valetkey/service-kit'
import { AUTHORIZATION_GENERATION } from './authorization-generation.js'

/** What the user of a session allows a client, now or by a consent that is remembered. */
export type Allowance = {
  userId: string
  /** Generations that the session was opened under: a session that has ended allows nothing. */
  userGeneration: number
  sessionGeneration: number
  clientId: string
  scope: readonly string[]
  /** `remembered`: the user was not asked this time, so the scope must be within what is remembered. */
  consent: 'given' | 'remembered'
}

/** Generations at Allow. The exchange compares them, so that an ending between the two makes the code worthless. */
export type AllowedGenerations = { clientGeneration: number; authorizationGeneration: number }

type Row = { number: number; client_generation: number; authorization_generation: number }

/** Checks what users allow; allowances of concurrent requests share a statement, which only reads. */
export function createAllowanceStore(database: Database, onBatch?: (size: number) => void) {
  async function readAll(allowances: readonly Allowance[]): Promise<readonly (AllowedGenerations | undefined)[]> {
    const rows = await database.query<Row>({ name: 'read_allowance', text: TEXT, values: [JSON.stringify(allowances)] })
    const found: (AllowedGenerations | undefined)[] = allowances.map(() => undefined)
    for (const row of rows) {
      const generations = { clientGeneration: row.client_generation }
      found[row.number - 1] = { ...generations, authorizationGeneration: row.authorization_generation }
    }
    return found
  }

  return {
    /**
     * @returns undefined when the session, the user or the client has ended or is disabled, or when what is remembered does
     *   not cover the scope
     */
    read: batched(readAll, { onBatch, eachAloneWhenRefused: true })
  }
}

export type AllowanceStore = ReturnType<typeof createAllowanceStore>

const TEXT = `select a.number::integer, c.generation as client_generation,
    ${AUTHORIZATION_GENERATION} as authorization_generation
  from rows from (json_to_recordset($1) as ("userId" uuid, "userGeneration" integer, "sessionGeneration" integer,
      "clientId" text, scope text[], consent text))
    with ordinality as a (user_id, user_generation, session_generation, client_id, scope, consent, number)
  join users u on u.user_id = a.user_id and u.generation = a.user_generation
    and u.session_generation = a.session_generation and u.disabled_at is null
  join clients c on c.client_id = a.client_id and c.disabled_at is null
  left join consents r on r.user_id = u.user_id and r.client_id = c.client_id
  where a.consent = 'given'
    or (r.scope @> a.scope and r.authorization_generation = ${AUTHORIZATION_GENERATION})`
