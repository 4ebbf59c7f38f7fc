/** The operator key or operating system user that makes a change; audit events name it. */
export type Actor =
  /** The operating system's user name. */
  { kind: 'command_line'; name: string } | { kind: 'operator_key'; name: string; operatorKeyId: string }

/** An actor and the request in which it makes a change; without a request on the command line. */
export type Author = {
  actor: Actor
  requestId?: string
  address?: string
  /** Changes over HTTP are also logged. */
  log?: { info(fields: object, message: string): void }
}
