import { type Database, isUniqueViolation, type Statement } from '@valetkey/service-kit'

/** An entry of the audit table, for a change that an operator makes. */
export type AuditNote = {
  occurredAt: Date
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
  /** Over these parts. */
  result: string
  values: readonly unknown[]
}

/**
 * The statement that makes a change and its audit entry: neither is there without the other, whatever fails, and a change
 * that changes nothing leaves no entry.
 */
export function audited({ name, parts, result, values }: Change, note: AuditNote): Statement {
  const at = (place: number): string => `$${values.length + place}`
  return {
    name,
    text: `with ${parts},
      noted as (
        insert into audit_events (occurred_at, event, request_id, client_id, user_id, address, details)
        select ${at(1)}::timestamptz, ${at(2)}::text, ${at(3)}::text, ${at(4)}::text, ${at(5)}::uuid, ${at(6)}::text, ${at(7)}::jsonb
        where exists (select 1 from changed)
      )
      ${result}`,
    values: [
      ...values,
      note.occurredAt,
      note.event,
      note.requestId,
      note.clientId,
      note.userId,
      note.address,
      JSON.stringify(note.details)
    ]
  }
}

/** Makes something that has a name, with its audit entry. @returns false, and nothing is there, when the name is taken */
export async function createAudited(database: Database, change: Change, note: AuditNote): Promise<boolean> {
  try {
    await database.query(audited(change, note))
    return true
  } catch (error) {
    if (isUniqueViolation(error)) return false
    throw error
  }
}
