import type { TraceContext } from '@valetkey/oauth-protocol'

/** The requests that a call is made for. */
export type CallOrigin = {
  readonly requestIds: readonly string[]
  /** The first trace context among them. */
  readonly trace: TraceContext | undefined
}

type Call<Result> = {
  result: Promise<Result>
  next: Promise<Result> | undefined
  /** The requests that the next call is made for. */
  waiting: { requestIds: string[]; trace: TraceContext | undefined }
}

/** These are enough ids to find a call in the log. */
const MAX_REQUEST_IDS = 64

type Make<Result> = (origin: CallOrigin) => Promise<Result>

export type SharedCalls<Result> = {
  /** The call for this key that is in progress, whenever it began. */
  current(key: string): Promise<Result> | undefined
  /**
   * A call that begins after this moment: now, if none is in progress, else after that one, and then one for all requests
   * that came meanwhile. So there is at most one call at a time for each key.
   * @param call gets the requests that it is made for
   */
  fresh(key: string, call: Make<Result>, requestId: string, trace?: TraceContext): Promise<Result>
}

/** Lets concurrent requests for the same key share calls. A failure is shared as well, but not kept. */
export function createSharedCalls<Result>(): SharedCalls<Result> {
  const calls = new Map<string, Call<Result>>()

  function start(key: string, make: Make<Result>, origin: CallOrigin): Promise<Result> {
    const waiting = { requestIds: [], trace: undefined }
    const call: Call<Result> = { result: make(origin), next: undefined, waiting }
    calls.set(key, call)
    const end = () => {
      if (calls.get(key) === call) calls.delete(key)
    }
    call.result.then(end, end)
    return call.result
  }

  return {
    current: (key) => calls.get(key)?.result,
    fresh(key, make, requestId, trace) {
      const call = calls.get(key)
      if (call === undefined) return start(key, make, { requestIds: [requestId], trace })
      const { waiting } = call
      if (waiting.requestIds.length < MAX_REQUEST_IDS) waiting.requestIds.push(requestId)
      waiting.trace ??= trace
      call.next ??= call.result.then(() => start(key, make, waiting))
      return call.next
    }
  }
}
