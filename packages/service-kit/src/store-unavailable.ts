/** Postgres or Redis did not answer, or cannot work right now. Answered with 503, never with a 4xx. */
export class StoreUnavailable extends Error {
  constructor(store: 'postgres' | 'redis', cause: unknown) {
    super(`${store} is unavailable`, { cause })
    this.name = 'StoreUnavailable'
  }
}
