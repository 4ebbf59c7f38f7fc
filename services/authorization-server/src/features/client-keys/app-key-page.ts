import { readPublicKey } from '@valetkey/oauth-protocol/signed'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { accountNavigation } from '../../browser/account/account-navigation.js'
import { isFresh, type SignedIn } from '../../browser/session/session-plugin.js'
import { MOST_REGISTERED_KEYS } from '../../platform/clients/client-keys.js'
import type { Message } from '../../platform/i18n/language.js'
import type { StoredJwk } from '../../storage/postgres/client-keys.js'
import {
  appUrl,
  confirmUrl,
  csrfTokenFor,
  type DeveloperPageOptions,
  refuse
} from '../developer-apps/developer-page.js'
import { type AppAuthentication, knownAuthentication, readAppAuthentication } from './app-authentication.js'
import type { AppKeyDeps } from './change-app-keys.js'

export type AppKeyPageOptions = DeveloperPageOptions & AppKeyDeps

/** The notice for `?done=…`. */
const DONE: ReadonlyMap<unknown, string> = new Map([
  ['added', 'keys.done_added'],
  ['removed', 'keys.done_removed'],
  ['keys', 'keys.done_keys'],
  ['address', 'keys.done_address']
])

/** @property field the wrong one @property objection in English, as the command line prints it @property typed what was not accepted; never a private key */
export type KeyProblem = {
  message: Message
  field?: 'keys' | 'jwks_uri'
  objection?: string
  typed?: { keys?: string; jwksUri?: string }
}

type ShownKeys = { user: SignedIn; clientId: string; done?: string | undefined; problem?: KeyProblem }

/** The keys of an app, for its owners. */
export async function showAppKeys(
  { user, clientId, done, problem }: ShownKeys,
  request: FastifyRequest,
  reply: FastifyReply,
  options: AppKeyPageOptions
): Promise<FastifyReply> {
  const { issuer, cookieKeys, now } = options
  const app = await options.apps.findOwn(user.userId, clientId)
  if (app === undefined) return refuse({ kind: 'unknown_app' }, request, reply, options)
  const authentication = await readAppAuthentication(clientId, options)
  // A public app has no credentials.
  if (authentication === undefined) return reply.redirect(appUrl(issuer, clientId), 303)
  const mayChange = isFresh(user, now())
  return reply.code(problem === undefined ? 200 : 422).view('account-developer-keys.hbs', {
    title: { key: 'keys.title', values: { client: app.settings.name } },
    account: accountNavigation(issuer, 'developer'),
    done: (problem === undefined && DONE.get(done)) || '',
    problem: problem?.message ?? '',
    objection: problem?.objection ?? '',
    isKeysWrong: problem?.field === 'keys',
    isAddressWrong: problem?.field === 'jwks_uri',
    typedKeys: problem?.typed?.keys ?? '',
    typedAddress: problem?.typed?.jwksUri ?? '',
    ...authenticationView(authentication),
    name: app.settings.name,
    confirmUrl: mayChange ? '' : confirmUrl(issuer, keysPage(clientId)),
    csrfToken: csrfTokenFor(user, request, cookieKeys),
    known: knownAuthentication(authentication),
    most: MOST_REGISTERED_KEYS,
    appUrl: appUrl(issuer, clientId),
    url: `${issuer}/account/${keysPage(clientId)}`
  })
}

/** The page below `/account`. */
export const keysPage = (clientId: string) => `developer/apps/${clientId}/keys`

function authenticationView(authentication: AppAuthentication) {
  const keys = authentication.kind === 'keys' ? authentication.keys : []
  const address = authentication.kind === 'address' ? authentication : undefined
  return {
    usesSecret: authentication.kind === 'secret',
    mayUseSecret: authentication.kind !== 'secret' && authentication.profile === undefined,
    usesKeys: authentication.kind === 'keys',
    usesAddress: authentication.kind === 'address',
    keys: keys.map(({ kid, jwk, createdAt, lastUsedAt }) => ({
      kid,
      ...keyView(jwk),
      createdAt,
      lastUsedAt: lastUsedAt ?? ''
    })),
    mayRemove: keys.length > 1,
    mayAdd: keys.length < MOST_REGISTERED_KEYS,
    jwksUri: address?.jwksUri ?? '',
    fetchedAt: address?.fetched?.at ?? '',
    fetchedKeys: (address?.fetched?.keys ?? []).map((jwk) => ({ kid: jwk.kid ?? '', ...keyView(jwk) }))
  }
}

/** Kind and algorithms of a key, as specifications name them. */
function keyView(jwk: StoredJwk): { type: string; algorithms: string } {
  const read = readPublicKey(jwk)
  const algorithms = read.kind === 'key' ? read.key.algorithms.join(', ') : ''
  const bits = Buffer.from(jwk.n ?? '', 'base64url').length * 8
  return { type: jwk.crv ?? `RSA ${bits}`, algorithms }
}
