/** Who makes a change, as the audit entries name them. */
export type Actor =
  /** The operating system's user name. */
  { kind: 'command_line'; name: string } | { kind: 'operator_key'; name: string; operatorKeyId: string }

/** An actor in the request, or the run of a command, in which the change is asked for. */
export type Author = {
  actor: Actor
  requestId?: string
  address?: string
  /** For services: their changes stand in the log, too. */
  log?: { info(fields: object, message: string): void }
}
