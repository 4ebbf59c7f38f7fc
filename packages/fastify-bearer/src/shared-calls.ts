type Call<Result> = { result: Promise<Result>; next: Promise<Result> | undefined }

export type SharedCalls<Result> = {
  /** The call for this key that is under way, whenever it began. */
  current(key: string): Promise<Result> | undefined
  /**
   * A call that has not begun yet: made now if none is under way, else right after that one, and then one for all who
   * came meanwhile. However many ask, there is never more than one at a time for a key.
   */
  fresh(key: string, call: () => Promise<Result>): Promise<Result>
}

/** Lets concurrent requests for the same key share calls. Failures are shared as well, and never kept. */
export function createSharedCalls<Result>(): SharedCalls<Result> {
  const calls = new Map<string, Call<Result>>()

  function start(key: string, make: () => Promise<Result>): Promise<Result> {
    const call: Call<Result> = { result: make(), next: undefined }
    calls.set(key, call)
    const end = () => {
      if (calls.get(key) === call) calls.delete(key)
    }
    call.result.then(end, end)
    return call.result
  }

  return {
    current: (key) => calls.get(key)?.result,
    fresh(key, make) {
      const call = calls.get(key)
      if (call === undefined) return start(key, make)
      call.next ??= call.result.then(() => start(key, make))
      return call.next
    }
  }
}
