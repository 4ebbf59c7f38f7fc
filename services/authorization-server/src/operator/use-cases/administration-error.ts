/** A command that cannot be done, in words for the operator who gave it; cli/ and http/ say so in their own ways. */
export class AdministrationError extends Error {
  readonly kind: 'invalid' | 'not_found' | 'conflict'
  constructor(kind: 'invalid' | 'not_found' | 'conflict', message: string) {
    super(message)
    this.name = 'AdministrationError'
    this.kind = kind
  }
}
