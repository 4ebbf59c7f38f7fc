import { EventEmitter } from 'node:events'
import { StoreUnavailable } from '@valetkey/service-kit'
import type { RedeemDeps } from '../../src/protocol/token/redeem-code.js'
import type { CodeContent, TakeOutcome } from '../../src/storage/redis/code-record.js'
import { ALLOWED } from './code-records.js'
import type { VirtualTime } from './virtual-time.js'

const CODE_TTL_MS = 20_000
/** The value of codes.ts. */
const UNDECIDED_MS = 3_000
/** How long a process waits for a response of Redis or Postgres. */
const STORE_LIMIT_MS = 2_500
const RETRY_RETURN_EVERY_MS = 250

/** A store does nothing from `from` until `until`; then it executes what has arrived, in that order. */
export type Stall = { store: 'redis' | 'postgres'; from: number; until: number }

type Grant = { grantId: string; redeemed: boolean; ended: boolean }

/**
 * The two stores of an exchange for one code, with the semantics of their scripts and statements.
 * @param delayOf the next delay of a command or of its response, in milliseconds
 */
export function createModelledStores(time: VirtualTime, delayOf: () => number, stalls: readonly Stall[]) {
  let code: { attempt: string | undefined; takenAt: number; content: CodeContent } = {
    attempt: undefined,
    takenAt: 0,
    content: { allowed: ALLOWED, undelivered: [] }
  }
  let grant: Grant | undefined

  /** Executes once, also if the process no longer waits for the response. */
  function execute<Result>(store: Stall['store'], command: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      const arrival = time.now() + delayOf()
      const stall = stalls.find((each) => each.store === store && each.from <= arrival && arrival < each.until)
      time.at(stall?.until ?? arrival, () => {
        const result = command()
        time.at(time.now() + delayOf(), () => resolve(result))
      })
      time.at(time.now() + STORE_LIMIT_MS, () => reject(new StoreUnavailable(store, undefined)))
    })
  }

  const isExpired = () => time.now() >= CODE_TTL_MS

  async function take(attempt: string, mode: 'first' | 'over'): Promise<TakeOutcome> {
    const taking = execute('redis', (): TakeOutcome => {
      const holder = code.attempt
      if (isExpired() && holder === undefined) return { kind: 'expired' }
      const isDecided = isExpired() || mode === 'first' || time.now() - code.takenAt > UNDECIDED_MS
      if (holder !== undefined && isDecided)
        return { kind: 'used', attempt: holder, mismatch: undefined, ...code.content }
      code = { ...code, attempt, takenAt: time.now() }
      return { kind: 'taken', ...code.content }
    })
    return taking.catch((error: unknown) => {
      void giveBack(attempt).catch(() => {})
      throw error
    })
  }

  const giveBack = (attempt: string, content?: CodeContent) =>
    execute('redis', () => {
      if (code.attempt === attempt) code = { ...code, attempt: undefined, content: content ?? code.content }
    })

  /** Gives back as give-back-codes.ts does. */
  async function giveBackUntilDone(attempt: string, content?: CodeContent): Promise<void> {
    while (time.now() < CODE_TTL_MS * 2) {
      const isDone = await giveBack(attempt, content).then(
        () => true,
        () => false
      )
      if (isDone) return
      await time.sleep(RETRY_RETURN_EVERY_MS)
    }
  }

  const deps = {
    codes: {
      take: (_hash, attempt) => take(attempt, 'first'),
      takeOver: (_hash, attempt) => take(attempt, 'over')
    },
    returns: {
      giveBack: async (_hash, attempt, content) => {
        await Promise.race([giveBackUntilDone(attempt, content), time.sleep(500)])
      },
      giveBackWhenTaken: (_hash, attempt) => void giveBackUntilDone(attempt)
    },
    grants: {
      storeExchange: ({ grantId }) =>
        execute('postgres', () => {
          if (grant !== undefined && (grant.redeemed || grant.ended)) return undefined
          grant = { grantId, redeemed: true, ended: false }
          return { scope: ALLOWED.scope, ended: [] }
        }),
      discardUndelivered: (_hash, grantIds) =>
        execute('postgres', () => {
          if (grant !== undefined && grantIds.includes(grant.grantId)) grant = { ...grant, redeemed: false }
        }),
      findByCode: () =>
        execute('postgres', () =>
          grant?.redeemed ? { grantId: grant.grantId, userId: ALLOWED.userId, binding: ALLOWED.binding } : undefined
        ),
      endReplayed: () =>
        execute('postgres', () => {
          if (grant?.redeemed) grant = { ...grant, ended: true }
        })
    },
    sleep: time.sleep
  } satisfies Pick<RedeemDeps, 'codes' | 'returns' | 'grants' | 'sleep'>

  return { deps, grant: () => grant }
}

/** The connection of one request. `reset` is the moment at which the process learns that the client is gone. */
export function createModelledConnection() {
  const socket = new EventEmitter()
  const response = new EventEmitter()
  let destroyed = false
  return {
    connection: Object.defineProperty(Object.assign(response, { socket, destroyed }), 'destroyed', {
      get: () => destroyed
    }),
    reset() {
      destroyed = true
      response.emit('close')
      socket.emit('close', true)
    }
  }
}
