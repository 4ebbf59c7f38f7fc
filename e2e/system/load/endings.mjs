// Load that ends access in every way. Grants are opened some time before they are ended, so that a failover may lose the ending
// and keep the grant. Each answered ending is recorded.
import { setTimeout as wait } from 'node:timers/promises'
import { createApp, tokensIn } from '../../../packages/dev-stack/lib/client/app.mjs'
import { simulateUser } from '../../../packages/dev-stack/lib/client/user.mjs'

/** @import { World } from '../start-world.mjs' */
/** @import { Tokens } from './flows.mjs' */
/** @typedef {(path: string, json: object) => Promise<Response>} Administer sends a request to `/admin` */
/** @typedef {Awaited<ReturnType<typeof prepareClient>>} Client */
/** @typedef {{ name: string, endsGrant: boolean, open: number, client: Client, grants: Tokens[] }} Way */
/** @typedef {{ name: string, endsGrant: boolean, client: Client, accessToken: string, refreshToken: string, at: number }} Ending
 *   an answered one */

/** Ways to end access, in turn. `endsGrant`: the refresh token ends as well. `open`: grants that are open beforehand. */
const WAYS = [
  { name: 'access token revoked', endsGrant: false, open: 8 },
  { name: 'refresh token revoked', endsGrant: true, open: 8 },
  // Ends all grants of its client.
  { name: 'authorization ended by an operator', endsGrant: true, open: 1 }
]
const PAUSE_MS = 20

/**
 * Registers a client for each way.
 * @param {Pick<World, 'fleet' | 'app'>} world
 * @param {Administer} administer
 * @returns `fill` and `run(record)`, in this order
 */
export async function prepareEndings(world, administer) {
  /** @type {Way[]} */
  const ways = []
  for (const way of WAYS) ways.push({ ...way, client: await prepareClient(world, administer), grants: [] })

  /** @param {Way} way */
  async function openSome({ client, grants, open }) {
    for (let attempt = 0; grants.length < open && attempt < open; attempt++) {
      const tokens = await client.open().catch(() => undefined)
      if (tokens !== undefined) grants.push(tokens)
    }
  }

  /**
   * @param {Way} way
   * @param {Tokens} tokens
   */
  function end({ name, client }, tokens) {
    if (name.startsWith('access')) return client.revoke(tokens.access_token)
    if (name.startsWith('refresh')) return client.revoke(tokens.refresh_token)
    return administer('/grants/revoke', { user_id: world.app.userId, client_id: client.clientId })
  }

  /**
   * Repeats an ending until it succeeds, as apps and operators do.
   * @param {Way} way
   * @param {Tokens} tokens
   * @param {() => boolean} isRunning
   * @returns whether it was answered
   */
  async function endOnce(way, tokens, isRunning) {
    while (isRunning()) {
      const { status } = await end(way, tokens).catch(() => ({ status: 0 }))
      if (status === 200) return true
      if (status !== 503 && status !== 0) throw new Error(`${way.name}: ${status}`)
      await wait(PAUSE_MS)
    }
    return false
  }

  return {
    /** Opens grants that `run` will end. */
    async fill() {
      for (const way of ways) {
        way.grants.length = 0
        await openSome(way)
      }
    },

    /** @param {(ending: Ending) => void} record */
    run(record) {
      let isRunning = true
      const running = (async () => {
        for (let turn = 0; isRunning; turn++) {
          const way = ways[turn % ways.length]
          const tokens = way?.grants.shift()
          if (way === undefined) break
          if (tokens !== undefined && (await endOnce(way, tokens, () => isRunning))) {
            const { name, endsGrant, client } = way
            const { access_token: accessToken, refresh_token: refreshToken } = tokens
            record({ name, endsGrant, client, accessToken, refreshToken, at: Date.now() })
          }
          if (isRunning) await openSome(way)
          await wait(PAUSE_MS)
        }
      })()
      return {
        async stop() {
          isRunning = false
          await running
        }
      }
    }
  }
}

/**
 * A client of its own, with a browser in which its user is signed in.
 * @param {Pick<World, 'fleet' | 'app'>} world
 * @param {Administer} administer
 */
async function prepareClient({ fleet: { issuer }, app: { username, password, redirectUri, scope } }, administer) {
  const registered = await administer('/clients', { name: 'Short', redirect_uris: [redirectUri], scope })
  /** @type {{ client_id: string, client_secret: string }} */
  const { client_id: clientId, client_secret: clientSecret } = JSON.parse(await registered.text())
  const client = createApp({ issuer, clientId, clientSecret, redirectUri, scope })
  const user = simulateUser(issuer, { username, password })
  await user.open(client.authorizeUrl())
  return {
    clientId,
    clientSecret,
    revoke: client.revoke,
    /** @returns the tokens of a new grant */
    open: async () => tokensIn(await client.exchange(await user.code(client.authorizeUrl())))
  }
}
