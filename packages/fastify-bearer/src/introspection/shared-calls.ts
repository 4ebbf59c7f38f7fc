type Call<Result> = {
  result: Promise<Result>
  next: Promise<Result> | undefined
  /** The requests for which the next one is made. */
  waiting: string[]
}

/** Of more than that nobody will look for each. */
const MOST_NAMED = 64

export type SharedCalls<Result> = {
  /** The call for this key that is under way, whenever it began. */
  current(key: string): Promise<Result> | undefined
  /**
   * A call that has not begun yet: made now if none is under way, else right after that one, and then one for all who
   * came meanwhile. However many ask, there is never more than one at a time for a key.
   * @param call gets the ids of the requests that it is made for
   */
  fresh(key: string, call: (requestIds: readonly string[]) => Promise<Result>, requestId: string): Promise<Result>
}

/** Lets concurrent requests for the same key share calls. Failures are shared as well, and never kept. */
export function createSharedCalls<Result>(): SharedCalls<Result> {
  const calls = new Map<string, Call<Result>>()

  type Make = (requestIds: readonly string[]) => Promise<Result>

  function start(key: string, make: Make, requestIds: readonly string[]): Promise<Result> {
    const call: Call<Result> = { result: make(requestIds), next: undefined, waiting: [] }
    calls.set(key, call)
    const end = () => {
      if (calls.get(key) === call) calls.delete(key)
    }
    call.result.then(end, end)
    return call.result
  }

  return {
    current: (key) => calls.get(key)?.result,
    fresh(key, make, requestId) {
      const call = calls.get(key)
      if (call === undefined) return start(key, make, [requestId])
      const { waiting } = call
      if (waiting.length < MOST_NAMED) waiting.push(requestId)
      call.next ??= call.result.then(() => start(key, make, waiting))
      return call.next
    }
  }
}
