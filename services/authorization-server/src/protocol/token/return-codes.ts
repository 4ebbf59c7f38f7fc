import { settleWithin } from '@valetkey/service-kit'
import type { CodeContent, CodeStore } from '../../storage/redis/codes.js'

/** How long an answer of 503 waits until its code is given back; after that this goes on in the background. */
const WAIT_MS = 500
const AGAIN_EVERY_MS = 1_000
/** More than `CODE_TTL` can be. */
const LONGEST_LIFE_MS = 30_000
const MOST_AT_ONCE = 1_000

type Digest = Parameters<CodeStore['giveBack']>[0]
type Return = { isDone(): Promise<boolean>; until: number }

/**
 * Gives codes back to Redis when their exchange failed, also when Redis is unavailable at that moment: otherwise the retry
 * of the client would look like a replay, and would end the grant. It tries for as long as a code can live, for 1,000
 * codes at most at a time, and until `close`. A process that ends before costs the users of these codes one sign-in.
 */
export function createCodeReturns(codes: Pick<CodeStore, 'giveBack'>) {
  const open = new Set<Return>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function add(isDone: () => Promise<boolean>): Return {
    const added = { isDone, until: performance.now() + LONGEST_LIFE_MS }
    if (closed || open.size >= MOST_AT_ONCE) return added
    open.add(added)
    timer ??= setInterval(tryAll, AGAIN_EVERY_MS).unref()
    return added
  }

  async function attempt(each: Return): Promise<void> {
    if (await each.isDone().catch(() => false)) open.delete(each)
  }

  function tryAll(): void {
    for (const each of open) {
      if (performance.now() > each.until) open.delete(each)
      else void attempt(each)
    }
    if (open.size === 0) stop()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  return {
    /** After an exchange that failed. Waits 0.5 s at most; never fails. */
    async giveBack(digest: Digest, attemptId: string, content: CodeContent): Promise<void> {
      const isDone = () => codes.giveBack(digest, attemptId, content).then(() => true)
      await settleWithin(WAIT_MS, [attempt(add(isDone))])
    },

    /** After a `take` without an answer, which has sent one return by itself: Redis may still run it, and run it late. */
    giveBackWhenTaken(digest: Digest, attemptId: string): void {
      add(() => codes.giveBack(digest, attemptId))
    },

    close(): void {
      closed = true
      open.clear()
      stop()
    }
  }
}

export type CodeReturns = ReturnType<typeof createCodeReturns>
