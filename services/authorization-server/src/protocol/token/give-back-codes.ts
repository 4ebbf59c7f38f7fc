import type { TokenHash } from '@valetkey/oauth-protocol'
import { settleWithin } from '@valetkey/service-kit'
import type { CodeContent, CodeStore } from '../../storage/redis/codes.js'

/** How long a 503 response waits for the return of its code. After that, the return continues in the background. */
const WAIT_MS = 500
/**
 * This is shorter than the time after which `redeem-code.ts` looks for a used code again, so that a retry right after an
 * outage finds it.
 */
const RETRY_EVERY_MS = 250
/** This is longer than the maximum of `CODE_TTL`. */
const LONGEST_CODE_TTL_MS = 30_000
const MAX_RETURNS = 1_000
/** With so many open, no return of a code that may not exist is added: anyone can cause these. */
const MAX_BEFORE_UNCONFIRMED = MAX_RETURNS / 2

type Return = { isDone(): Promise<boolean>; until: number }

/**
 * Gives codes back to Redis after a failed exchange, also if Redis is unavailable at first. Otherwise the retry of the client
 * would be treated as a replay and would end the grant. It tries until the code has expired, for at most 1,000 codes at a
 * time, and until `close`. If the process ends earlier, the users of these codes must sign in again.
 */
export function createCodeReturns(codes: Pick<CodeStore, 'giveBack'>) {
  const open = new Set<Return>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function add(isDone: () => Promise<boolean>, max: number): Return {
    const added = { isDone, until: performance.now() + LONGEST_CODE_TTL_MS }
    if (closed || open.size >= max) return added
    open.add(added)
    timer ??= setInterval(tryAll, RETRY_EVERY_MS).unref()
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
    /** Gives a code back after a failed exchange. Waits at most 0.5 s; never fails. */
    async giveBack(hash: TokenHash, attemptId: string, content: CodeContent): Promise<void> {
      const isDone = () => codes.giveBack(hash, attemptId, content).then(() => true)
      await settleWithin(WAIT_MS, [attempt(add(isDone, MAX_RETURNS))])
    },

    /**
     * Gives a code back after a `take` that got no response: Redis may still run that command late, and `take` has sent one
     * return itself.
     */
    giveBackWhenTaken(hash: TokenHash, attemptId: string): void {
      add(() => codes.giveBack(hash, attemptId), MAX_BEFORE_UNCONFIRMED)
    },

    close(): void {
      closed = true
      open.clear()
      stop()
    }
  }
}

export type CodeReturns = ReturnType<typeof createCodeReturns>
