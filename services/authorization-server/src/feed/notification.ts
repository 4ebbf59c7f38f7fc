/** What the payload of one notification says (channel `valetkey_revocations`; format: `0010_announce_endings.sql`). */
export type Notification =
  | { kind: 'pulse'; epoch: string; sent: unknown }
  | { kind: 'nonce'; stream: string; nonce: string }
  | { kind: 'ended'; ended: Ended; audience: string | undefined }
  /** A table was emptied as a whole: anything may have ended. */
  | { kind: 'reset' }
  | { kind: 'unreadable' }

/** One member, named as introspection names it: `jti`, `grant_id`, `sub`, `client_id`, or one of a later release. */
export type Ended = Readonly<Record<string, string>>

/** A user or a client: its grants say which audiences it concerns. */
export type Subject = { member: 'sub' | 'client_id'; value: string }

const UNREADABLE: Notification = { kind: 'unreadable' }

// Never the name of something that ended.
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

/** @returns undefined where the notification names no user and no client, or its audience as well */
export function subjectOf(notification: Notification): Subject | undefined {
  if (notification.kind !== 'ended' || notification.audience !== undefined) return undefined
  const { sub, client_id: clientId } = notification.ended
  if (sub !== undefined) return { member: 'sub', value: sub }
  return clientId === undefined ? undefined : { member: 'client_id', value: clientId }
}

function readEnded(members: Record<string, unknown>, audience: string | undefined): Notification {
  const [member, ...others] = Object.keys(members)
  const value = member === undefined ? undefined : members[member]
  // A member that this release does not know as well: guards that do not know it either drop all they keep.
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
