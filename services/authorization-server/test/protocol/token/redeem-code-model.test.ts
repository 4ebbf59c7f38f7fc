import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { type Client, newOpaqueToken, type TokenResponse } from '@valetkey/oauth-protocol'
import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check'
import type { AuditEvent } from '../../../src/platform/audit/audit-event.js'
import { redeemCode } from '../../../src/protocol/token/redeem-code.js'
import { BINDING, RIGHT } from '../../support/code-records.js'
import { createModelledConnection, createModelledStores, type Stall } from '../../support/exchange-model.js'
import { createVirtualTime } from '../../support/virtual-time.js'

const REQUEST = { ...RIGHT, grantType: 'authorization_code' as const, codeVerifier: undefined }
const CLIENT = { clientId: BINDING.clientId, issuesRefreshTokens: true } as Client
const LIFETIMES = { accessToken: 3600, refreshTokenIdle: 3600, refreshTokenMax: 3600 }
/** An honest client repeats a request that failed, within the lifetime of its code. */
const MAX_REQUESTS = 6

type Round = { delays: number[]; resets: number[]; notices: number[]; stalls: Stall[] }

/** One client with one code, which resets some connections. Then a second party sends the same request. */
async function play({ delays, resets, notices, stalls }: Round) {
  const time = createVirtualTime()
  let drawn = 0
  const stores = createModelledStores(time, () => delays[drawn++ % delays.length] ?? 0, stalls)
  const events: AuditEvent[] = []
  const code = newOpaqueToken('authorizationCode', randomBytes)

  function send() {
    const { connection, reset } = createModelledConnection()
    const audit = { record: (_request: unknown, event: AuditEvent) => events.push(event) }
    const deps = { ...stores.deps, audit, lifetimes: LIFETIMES, now: () => new Date(), randomBytes }
    const response = redeemCode(
      { ...REQUEST, code, dpopJkt: undefined },
      CLIENT,
      deps as never,
      {} as never,
      connection as never
    )
    return { response: response.catch((error: Error & { code?: string }) => error), reset }
  }

  /** @returns undefined if the client resets the connection before it has the response */
  async function sendAndReset(after: number, notice: number): Promise<TokenResponse | Error | undefined> {
    const { response, reset } = send()
    const abort = time.sleep(after).then(() => undefined)
    const received = await Promise.race([response, abort])
    if (received !== undefined) return received
    // The network reports the reset before the client repeats its request.
    await time.sleep(notice)
    reset()
    return undefined
  }

  const outcome: { honest?: TokenResponse | Error | undefined; replay?: TokenResponse | Error } = {}
  let before: AuditEvent[] = []
  let live: ReturnType<typeof stores.grant>
  async function story(): Promise<void> {
    for (let number = 0; number < MAX_REQUESTS; number++) {
      const resetAfter = resets[number]
      outcome.honest =
        resetAfter === undefined
          ? await send().response
          : await sendAndReset(resetAfter, notices[number % notices.length] ?? 0)
      if (outcome.honest === undefined) continue
      if (outcome.honest instanceof Error && outcome.honest.name === 'StoreUnavailable') await time.sleep(2_000)
      else break
    }
    before = [...events]
    live = stores.grant()
    outcome.replay = await send().response
    if (outcome.replay instanceof Error && outcome.replay.name === 'StoreUnavailable') {
      await time.sleep(5_000)
      outcome.replay = await send().response
    }
  }
  const told = story()
  await time.runAll()
  await told
  return { ...outcome, before, live, after: events.slice(before.length), grant: stores.grant() }
}

const rounds = record({
  delays: array(integer({ min: 0, max: 100 }), { minLength: 1, maxLength: 30 }),
  // There are at most three, so that the last request of the client is complete.
  resets: array(integer({ min: 0, max: 700 }), { maxLength: 3 }),
  notices: array(integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 3 }),
  stalls: array(
    record({
      store: constantFrom('redis' as const, 'postgres' as const),
      from: integer({ min: 0, max: 600 }),
      until: integer({ min: 600, max: 4_000 })
    }),
    { maxLength: 1 }
  )
})

test('redeemCode with resets, delays and a stalled store: no false replay, no ended tokens, each replay detected (RFC 6749 §4.1.2)', async () => {
  await assert(
    asyncProperty(rounds, async (round) => {
      const { honest, before, live, replay, after, grant } = await play(round)
      expect(honest).toMatchObject({ token_type: 'Bearer' })
      // More than one if the service could not know that the client had not read the response.
      expect(new Set(before.map(({ event }) => event))).toEqual(new Set(['code_redeemed']))
      expect(live).toEqual({ grantId: before.at(-1)?.grantId, redeemed: true, ended: false })
      expect(replay).toMatchObject({ code: 'invalid_grant', description: 'authorization code was already used' })
      expect(after.map(({ event }) => event)).toEqual(['code_reused'])
      expect(grant).toEqual({ ...live, ended: true })
    }),
    { numRuns: Number(process.env.MODEL_ROUNDS ?? 1_000) }
  )
})
