/** The payload of a notification on channel `valetkey_revocations` (format: `0010_announce_endings.sql`). */
export type Notification =
  | { kind: 'pulse'; epoch: string; sent: unknown }
  | { kind: 'nonce'; stream: string; nonce: string }
  | { kind: 'ended'; ended: Ended; audience: string | undefined }
  /** A table was truncated: anything may have ended. */
  | { kind: 'reset' }
  | { kind: 'unreadable' }

/** One member, with its name in introspection responses: `jti`, `grant_id`, `sub`, `client_id`, or a name of a later release. */
type Ended = Readonly<Record<string, string>>

/** A user or client. Its grants determine the affected audiences. */
export type Subject = { member: 'sub' | 'client_id'; value: string }

const UNREADABLE: Notification = { kind: 'unreadable' }

// Reserved members of other kinds of notification.
const OWN_MEMBERS = ['pulse', 'sent', 'stream', 'nonce', 'audience']

export function readNotification(payload: string): Notification {
  const message = parse(payload)
  if (isText(message.pulse)) return { kind: 'pulse', epoch: message.pulse, sent: message.sent }
  if (isText(message.stream) && isText(message.nonce)) {
    return { kind: 'nonce', stream: message.stream, nonce: message.nonce }
  }
  if (isText(message.reset)) return { kind: 'reset' }
  const { audience, ...members } = message
  return readEnded(members, isText(audience) ? audience : undefined)
}

/** @returns undefined if the notification has no user and no client, or already has an audience */
export function subjectOf(notification: Notification): Subject | undefined {
  if (notification.kind !== 'ended' || notification.audience !== undefined) return undefined
  const { sub, client_id: clientId } = notification.ended
  if (sub !== undefined) return { member: 'sub', value: sub }
  return clientId === undefined ? undefined : { member: 'client_id', value: clientId }
}

function readEnded(members: Record<string, unknown>, audience: string | undefined): Notification {
  const [member, ...others] = Object.keys(members)
  const value = member === undefined ? undefined : members[member]
  // Unknown members are forwarded too: a guard that does not know the member clears its cache.
  if (member === undefined || others.length > 0 || !isText(value) || OWN_MEMBERS.includes(member)) return UNREADABLE
  return { kind: 'ended', ended: { [member]: value }, audience }
}

function parse(text: string): Record<string, unknown> {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null && !Array.isArray(message) ? { ...message } : {}
  } catch {
    return {}
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
