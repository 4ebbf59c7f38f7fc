import { type Database, isUniqueViolation, type Statement } from '@valetkey/service-kit'

/** An entry of the audit table, for a change that an operator makes. */
export type AuditNote = {
  event: string
  requestId: string | undefined
  clientId: string | undefined
  userId: string | undefined
  address: string | undefined
  /** Who did it, and what of it is kept: never a secret, a hash or a password. */
  details: Readonly<Record<string, unknown>>
}

export type Change = {
  name: string
  /** One or more parts of a `with`; the one called `changed` has a row exactly if something was changed. */
  parts: string
  /** What only the statement knows, for the entry: an expression over these parts that makes an object. */
  details?: string
  /** Over these parts. */
  result: string
  values: readonly unknown[]
}

/**
 * The statement that makes a change and its audit entry: neither is there without the other, whatever fails, and a change
 * that changes nothing leaves no entry.
 */
export function audited({ name, parts, details = `'{}'::jsonb`, result, values }: Change, note: AuditNote): Statement {
  const at = (place: number): string => `$${values.length + place}`
  return {
    name,
    text: `with ${parts},
      noted as (
        insert into audit_events (occurred_at, event, request_id, client_id, user_id, address, details)
        select now(), ${at(1)}::text, ${at(2)}::text, ${at(3)}::text, ${at(4)}::uuid, ${at(5)}::text, ${at(6)}::jsonb || ${details}
        where exists (select 1 from changed)
      )
      ${result}`,
    values: [
      ...values,
      note.event,
      note.requestId,
      note.clientId,
      note.userId,
      note.address,
      JSON.stringify(note.details)
    ]
  }
}

/** Makes something that has a name, with its audit entry. @returns no row, and nothing is there, when the name is taken */
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
