/** A command that is refused; the message is for the operator. cli/ maps the kind to an exit code, http/ to a status. */
export class AdministrationError extends Error {
  readonly kind: 'invalid' | 'not_found' | 'conflict' | 'busy'
  constructor(kind: AdministrationError['kind'], message: string) {
    super(message)
    this.name = 'AdministrationError'
    this.kind = kind
  }
}
