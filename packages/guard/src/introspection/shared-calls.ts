type Call<Result> = {
  result: Promise<Result>
  next: Promise<Result> | undefined
  /** Ids of the requests that the next call is made for. */
  requestIds: string[]
}

/** Enough ids to find a call in the log. */
const MAX_REQUEST_IDS = 64

export type SharedCalls<Result> = {
  /** The call for this key that is in progress, whenever it began. */
  current(key: string): Promise<Result> | undefined
  /**
   * A call that begins after this moment: now, if none is in progress, else after that one, and then one for all requests
   * that came meanwhile. So there is at most one call at a time for each key.
   * @param call gets the ids of the requests that it is made for
   */
  fresh(key: string, call: (requestIds: readonly string[]) => Promise<Result>, requestId: string): Promise<Result>
}

/** Lets concurrent requests for the same key share calls. A failure is shared as well, but not kept. */
export function createSharedCalls<Result>(): SharedCalls<Result> {
  const calls = new Map<string, Call<Result>>()

  type Make = (requestIds: readonly string[]) => Promise<Result>

  function start(key: string, make: Make, requestIds: readonly string[]): Promise<Result> {
    const call: Call<Result> = { result: make(requestIds), next: undefined, requestIds: [] }
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
      const { requestIds } = call
      if (requestIds.length < MAX_REQUEST_IDS) requestIds.push(requestId)
      call.next ??= call.result.then(() => start(key, make, requestIds))
      return call.next
    }
  }
}
