/** Postgres did not answer, or cannot work right now. Answered with 503, never with a 4xx. */
export class StoreUnavailable extends Error {
  constructor(cause: unknown) {
    super('postgres is unavailable', { cause })
    this.name = 'StoreUnavailable'
  }
}
