import { type Database, isUniqueViolation, type Statement } from '@valetkey/service-kit'

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

export type Change = {
  name: string
  /** One or more parts of a `with`. The part `changed` has a row if and only if something was changed. */
  parts: string
  /** SQL expression over these parts that returns further details as a JSON object. */
  details?: string
  /** The final `select` over these parts. */
  result: string
  values: readonly unknown[]
}

/** One statement for a change and its audit entry, so that neither exists without the other. No change: no entry. */
export function audited({ name, parts, details = `'{}'::jsonb`, result, values }: Change, note: AuditNote): Statement {
  const at = (index: number): string => `$${values.length + index}`
  return {
    name,
    text: `with ${parts},
      noted as (
        insert into audit_events (occurred_at, event, request_id, trace_id, client_id, user_id, address, details)
        select now(), ${at(1)}::text, ${at(2)}::text, ${at(3)}::text, ${at(4)}::text, ${at(5)}::uuid, ${at(6)}::text,
          ${at(7)}::jsonb || ${details}
        where exists (select 1 from changed)
      )
      ${result}`,
    values: [
      ...values,
      note.event,
      note.requestId,
      note.traceId,
      note.clientId,
      note.userId,
      note.address,
      JSON.stringify(note.details)
    ]
  }
}

/** Makes a change with its audit entry. @returns whether `changed` has a row */
export async function makeAudited(
  database: Database,
  change: Omit<Change, 'result'>,
  note: AuditNote
): Promise<boolean> {
  return (await database.query(audited({ ...change, result: 'select from changed' }, note))).length > 0
}

/** Creates a named record with its audit entry. @returns no row if the name is taken; then nothing was stored */
export async function createAudited<Row extends Record<string, unknown>>(
  database: Database,
  change: Change,
  note: AuditNote
): Promise<Row[]> {
  try {
    return await database.query<Row>(audited(change, note))
  } catch (error) {
    if (isUniqueViolation(error)) return []
    throw error
  }
}
