// A cell: one user and one client, whose commands run at the same time as those of other cells.
import { setTimeout as wait } from 'node:timers/promises'
import { createBrowsing } from './browsing.mjs'
import { createEndings } from './endings.mjs'
import { createHistory } from './history.mjs'
import { INITIAL, RETRY_WINDOW_MS } from './model-state.mjs'
import { createTokens } from './tokens.mjs'

/** @import { Command, Step } from './schedules.mjs' */
/** @import { User, World } from './world.mjs' */
/** @typedef {Awaited<ReturnType<typeof openCell>>} Cell */
/** @typedef {{ name: string, value: string, key: string, isUsed: boolean, isCopied: boolean, isLeft: boolean, begun: number, open: number }} Code */
/**
 * @typedef {{ access: string, refresh: string, accessName: string, refreshName: string, isRotated: boolean, isActive: boolean, grantId?: string,
 *   cached?: { server: number, mark: import('../../packages/guard/dist/revocations/revocation-view.js').Mark, names: string[] } }} Tokens
 */
/**
 * @typedef {object} Place what the commands of a cell share
 * @property {World} world
 * @property {User} user
 * @property {Awaited<ReturnType<World['createClient']>>} client
 * @property {ReturnType<typeof createHistory>} history
 * @property {Code[]} codes
 * @property {Tokens[]} tokens
 * @property {{ mayEndUser: boolean, endedUser: boolean }} marks `mayEndUser`: at any later time
 */
/** @typedef {Pick<Command, 'server'> & Partial<Pick<Command, 'cutAfterMs'>>} How */

/** @param {World} world */
export async function openCell(world) {
  const user = await world.borrowUser()
  const client = await world.createClient()
  /** @type {Place} */
  const place = {
    world,
    user,
    client,
    history: createHistory(world),
    codes: [],
    tokens: [],
    marks: { mayEndUser: false, endedUser: false }
  }
  const initial = { ...INITIAL, session: user.session }
  const browsing = createBrowsing(place)
  const tokens = createTokens(place)
  const endings = createEndings(place)

  /** @param {number} server */
  async function obtainCode(server) {
    if ((await browsing.authorize({ server })) === 'asked') await browsing.allow({ server })
  }

  /** Finds what a command needs, before its step begins. @param {Command} command @returns {Promise<() => Promise<unknown>>} */
  async function prepare(command) {
    const { kind, server, nth } = command
    const unusedCodes = () => place.codes.filter(({ isUsed, isLeft }) => !isUsed && !isLeft)
    const activeTokens = () => place.tokens.filter(({ isActive, isRotated }) => isActive && !isRotated)
    const needsTokens = NEED_TOKENS.has(kind) && activeTokens().length === 0
    if ((needsTokens || NEED_CODES.has(kind)) && unusedCodes().length === 0) await obtainCode(server)
    if (needsTokens) await on(newest(unusedCodes(), 0), (code) => tokens.exchange(code, { server }))
    const unused = newest(unusedCodes(), nth)
    const used = newest(
      place.codes.filter(({ isUsed }) => isUsed),
      nth
    )
    const any = newest(place.codes, nth)
    const current = newest(activeTokens(), nth)
    const rotated = newest(
      place.tokens.filter(({ isRotated }) => isRotated),
      nth
    )
    const pair = newest(place.tokens, nth)
    switch (kind) {
      case 'authorize':
      case 'allow':
        return () => browsing[kind](command)
      case 'exchange':
        return () => on(unused, (code) => tokens.exchange(code, command))
      case 'exchange_wrong':
        return () => on(unused, (code) => tokens.exchange(code, command, `${WRONG_URI}`))
      case 'replay':
        return () => on(used, (code) => tokens.exchange(code, command))
      case 'refresh':
        return () => on(current, (one) => tokens.refresh(one, command))
      case 'refresh_old':
        return () => on(rotated, (one) => tokens.refresh(one, command))
      case 'introspect':
      case 'cache':
      case 'read_cached':
        return () => on(pair, (one) => tokens[INTROSPECTIONS[kind]](one, command))
      case 'lose_code':
        return () => on(unused, tokens.lose)
      case 'restore_code':
        return () => on(any, tokens.restore)
      case 'end_grant':
        if (pair !== undefined && pair.grantId === undefined) await tokens.introspect(pair, command)
        return () => on(pair, (one) => endings.end_grant(one, command))
      case 'revoke_access':
      case 'revoke_refresh':
        return () => on(pair, (one) => endings[kind](one, command))
      case 'end_and_read':
        // At once, while the servers still look up which streams get the event.
        return async () => {
          await endings[nth % 2 === 0 ? 'end_pair' : 'end_to_client'](command)
          await Promise.all(place.tokens.slice(-OBSERVED).map(tokens.readCached))
        }
      case 'hold_locks':
        return () => world.holdLocks(client.client_id)
      case 'wait':
        return () => wait(RETRY_WINDOW_MS + 200)
      default:
        return () => endings[kind](command)
    }
  }

  /** At both servers, so that no effect of the step is missed. */
  const introspectNewest = () =>
    Promise.all(
      place.tokens.slice(-OBSERVED).flatMap((pair) => [0, 1].map((server) => tokens.introspect(pair, { server })))
    )

  /** Uses everything once more, so that an effect that must not be is seen. */
  async function finish() {
    const how = { server: 1 }
    await Promise.all(place.tokens.map((pair) => tokens.introspect(pair, how)))
    for (const code of place.codes.filter(({ isUsed }) => !isUsed)) await tokens.exchange(code, how)
    await browsing.authorize({ server: 0 })
    for (const pair of place.tokens.filter(({ isRotated }) => !isRotated)) await tokens.refresh(pair, { server: 0 })
    await Promise.all(place.tokens.map((pair) => tokens.introspect(pair, { server: 0 })))
  }

  return {
    initial,
    operations: place.history.operations,
    /** @param {readonly Step[]} steps */
    async run(steps) {
      for (const step of steps) {
        const prepared = []
        for (const command of step) prepared.push({ command, act: await prepare(command) })
        await Promise.all(prepared.map(({ command, act }) => wait(step.length > 1 ? command.delayMs : 0).then(act)))
        await introspectNewest()
      }
      await finish()
      if (place.marks.mayEndUser) return
      // Which of an ending and a sign-in came first is not known.
      if (place.marks.endedUser) user.session = ''
      world.returnUser(user)
    }
  }
}

/** The newest tokens are introspected after each step. */
const OBSERVED = 2
const WRONG_URI = 'https://app.example/other'
/** @type {ReadonlySet<string>} */
const NEED_CODES = new Set(['exchange', 'exchange_wrong', 'lose_code'])
/** @type {ReadonlySet<string>} */
const NEED_TOKENS = new Set([
  'refresh',
  'introspect',
  'cache',
  'revoke_access',
  'revoke_refresh',
  'end_grant',
  'replay'
])
const INTROSPECTIONS = /** @type {const} */ ({ introspect: 'introspect', cache: 'cache', read_cached: 'readCached' })

/** @template Item @param {readonly Item[]} items @param {number} nth @returns {Item | undefined} */
const newest = (items, nth) => items.at(-1 - Math.min(nth, items.length - 1))

/** @template Item @param {Item | undefined} item @param {(item: Item) => Promise<unknown>} act */
const on = async (item, act) => (item === undefined ? undefined : act(item))
