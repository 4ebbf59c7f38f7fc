import type { AuditEntry } from '../../storage/postgres/audit-entries.js'

/** One line for each event: time, name and members as name=value. `count` is shown for more than one event. */
export function auditLine({
  occurredAt,
  event,
  userId,
  clientId,
  address,
  requestId,
  traceId,
  details
}: AuditEntry): string {
  const { actor, ...rest } = details
  const fields = { actor: actorOf(actor), userId, clientId, ...rest, address, requestId, traceId }
  return [occurredAt.toISOString(), event, ...fieldsOf(fields)].join(' ')
}

/** The members that have a value, as name=value. */
export function fieldsOf(members: Readonly<Record<string, unknown>>): string[] {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== null)
  return given.map(([name, value]) => `${name}=${plain(value)}`)
}

function actorOf(actor: unknown): string | undefined {
  if (typeof actor !== 'object' || actor === null) return undefined
  const { kind, name } = actor as { kind?: unknown; name?: unknown }
  return `${kind}:${name}`
}

/** Quoted if the value would be ambiguous. */
function plain(value: unknown): string {
  return typeof value === 'string' && /^[\w.:/+-]+$/.test(value) ? value : JSON.stringify(value)
}
