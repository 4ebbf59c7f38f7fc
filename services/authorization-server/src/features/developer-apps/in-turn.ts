/**
 * Does work with the same key one after the other, in this process. For changes that exclude each other by a version: requests that
 * arrive together would otherwise fail and repeat, most of them in vain.
 */
export function createTurns() {
  const last = new Map<string, Promise<unknown>>()

  return async function inTurn<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = last.get(key) ?? Promise.resolve()
    const result = before.then(work)
    const done = result.catch(() => undefined)
    last.set(key, done)
    await done
    if (last.get(key) === done) last.delete(key)
    return result
  }
}
