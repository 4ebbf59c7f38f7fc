import { type Database, defineStatement, isUniqueViolation, type Statement, type ValuesOf } from '@valetkey/service-kit'

/** The audit entry of a change by an operator. */
export type AuditNote = {
  event: string
  requestId: string | undefined
  traceId: string | undefined
  clientId: string | undefined
  userId: string | undefined
  address: string | undefined
  /** The actor and the details of the change; never a secret, a hash or a password. */
  details: Readonly<Record<string, unknown>>
}

/**
 * Defines one statement for a change and its audit entry, so that neither exists without the other. No change: no entry.
 * @param parts of a `with`. The part `changed` has a row if and only if something was changed
 * @param options.details SQL expression over these parts that returns further details as a JSON object
 * @param options.result the final `select` over these parts; by default one row if something was changed
 */
export function defineChange<const Parts extends string, const Result extends string = ''>(
  name: string,
  parts: Parts,
  { details = `'{}'::jsonb`, result }: { details?: string; result?: Result } = {}
): (values: ValuesOf<Parts | Result>, note: AuditNote) => Statement {
  const change = defineStatement<string>(
    name,
    `with ${parts},
      noted as (
        insert into audit_events (occurred_at, event, request_id, trace_id, client_id, user_id, address, details)
        select now(), :noteEvent::text, :noteRequestId::text, :noteTraceId::text, :noteClientId::text, :noteUserId::uuid,
          :noteAddress::text, :noteDetails::jsonb || ${details}
        where exists (select 1 from changed)
      )
      ${result ?? 'select from changed'}`
  )
  return (values, note) =>
    change({
      ...values,
      noteEvent: note.event,
      noteRequestId: note.requestId,
      noteTraceId: note.traceId,
      noteClientId: note.clientId,
      noteUserId: note.userId,
      noteAddress: note.address,
      noteDetails: JSON.stringify(note.details)
    })
}

/** Makes a change of `defineChange` with the default result. @returns whether `changed` has a row */
export async function makeAudited(database: Database, change: Statement): Promise<boolean> {
  return (await database.query(change)).length > 0
}

/** Creates a named record by a change of `defineChange`. @returns no row if the name is taken; then nothing was stored */
export async function createAudited<Row extends Record<string, unknown>>(
  database: Database,
  change: Statement
): Promise<Row[]> {
  try {
    return await database.query<Row>(change)
  } catch (error) {
    if (isUniqueViolation(error)) return []
    throw error
  }
}
