import type { LightMyRequestResponse } from 'fastify'
import { hashPassword } from '../../src/platform/passwords/password.js'
import { type Administration, startAdministration } from './administration.js'
import { type Credentials, ISSUER, type TestServer } from './authorization-server.js'
import { Browser } from './browser.js'
import { authorizeUrl, exchange, PASSWORD, post, refresh, responseParameters } from './flow.js'
import { insertUser } from './insert-user.js'
import { openEndOfAccess } from './pages.js'
import { isActive, pairOf, type Tokens } from './tokens.js'

/** A signed-in user with a remembered consent. */
export type Access = { userId: string; username: string; client: Credentials; browser: Browser; tokens: Tokens }

export type Ending = { name: string; end(access: Access): Promise<LightMyRequestResponse> }

let users = 0
let passwordHash: Promise<string> | undefined

/** A new user allows a new client with remembered consent, and the first code is exchanged. */
export async function openAccess(server: TestServer): Promise<Access> {
  passwordHash ??= hashPassword(PASSWORD)
  const [userId, username] = [crypto.randomUUID(), `user ${++users}`]
  await insertUser(server.database, { userId, username, passwordHash: await passwordHash, createdAt: new Date() })
  const client = await server.createClient({ consent: 'remember' })
  const browser = server.newBrowser()
  const login = await browser.open(authorizeUrl(client.clientId))
  const consent = await browser.submit(login, { username, password: PASSWORD })
  const { code = '' } = responseParameters(await browser.submitOnly(consent, { decision: 'allow' }))
  return { userId, username, client, browser, tokens: pairOf(await exchange(server, client, code)) }
}

/** The same browser, connected to another instance. */
export function browserAt(instance: TestServer, { cookies }: Browser): Browser {
  const browser = new Browser(instance.publicServer, instance.config.issuer)
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  return browser
}

/** @returns a code, without a consent page */
export async function codeAtOnce(instance: TestServer, { client, browser }: Access): Promise<string | undefined> {
  const answer = await browserAt(instance, browser).get(authorizeUrl(client.clientId))
  return new URL(String(answer.headers.location ?? ISSUER), ISSUER).searchParams.get('code') ?? undefined
}

/** Exchanges a code, or obtains one by the remembered consent first. */
export async function openGrant(instance: TestServer, access: Access, known?: string): Promise<Tokens | undefined> {
  const code = known ?? (await codeAtOnce(instance, access))
  return code === undefined ? undefined : tokensOf(await exchange(instance, access.client, code))
}

export const refreshed = async (instance: TestServer, { client, tokens }: Access): Promise<Tokens | undefined> =>
  tokensOf(await refresh(instance, client, tokens.refresh_token))

const tokensOf = (answer: LightMyRequestResponse) => (answer.statusCode === 200 ? pairOf(answer) : undefined)

/** Number of valid tokens: access tokens by introspection, refresh tokens by a refresh. */
export async function countSurvivors(
  server: TestServer,
  { client, resourceServer }: { client: Credentials; resourceServer: Credentials },
  opened: readonly (Tokens | undefined)[]
): Promise<number> {
  let survivors = 0
  for (const tokens of opened) {
    if (tokens === undefined) continue
    if (await isActive(server, resourceServer, tokens.access_token)) survivors += 1
    if ((await refresh(server, client, tokens.refresh_token)).statusCode === 200) survivors += 1
  }
  return survivors
}

/** Every way to end the access of a client to a user's account. */
export async function allEndings(server: TestServer): Promise<readonly Ending[]> {
  const admin = await startAdministration(server)
  return [...endingsOfAuthorizations(server, admin), ...endingsOfUsersAndClients(admin)]
}

function endingsOfAuthorizations(server: TestServer, admin: Administration): readonly Ending[] {
  const revoke = (body: object) => admin.call('POST', '/grants/revoke', body)
  return [
    {
      name: 'the user on the account page',
      async end({ browser, client }) {
        const there = browserAt(server, browser)
        return there.submitOnly(await openEndOfAccess(there, client.clientId), {})
      }
    },
    {
      name: 'an operator for a user and a client',
      end: ({ userId, client }) => revoke({ user_id: userId, client_id: client.clientId })
    },
    { name: 'an operator for a user', end: ({ userId }) => revoke({ user_id: userId }) },
    { name: 'an operator for a client', end: ({ client }) => revoke({ client_id: client.clientId }) }
  ]
}

function endingsOfUsersAndClients(admin: Administration): readonly Ending[] {
  const password = `${PASSWORD} again`
  return [
    { name: 'the user is disabled', end: ({ userId }) => admin.call('POST', `/users/${userId}/disable`) },
    { name: 'the user is deleted', end: ({ userId }) => admin.call('DELETE', `/users/${userId}`) },
    {
      name: 'the user has a new password',
      end: ({ userId }) => admin.call('PUT', `/users/${userId}/password`, { password })
    },
    { name: 'the client is disabled', end: ({ client }) => admin.call('POST', `/clients/${client.clientId}/disable`) },
    { name: 'the client is deleted', end: ({ client }) => admin.call('DELETE', `/clients/${client.clientId}`) }
  ]
}

/** The client revokes its refresh token (RFC 7009): the grant ends. */
export const revokeRefreshToken = (server: TestServer, { client, tokens }: Access) =>
  post(server, '/oauth/revoke', {
    token: tokens.refresh_token,
    client_id: client.clientId,
    client_secret: client.clientSecret
  })

/** An operator revokes the grant of these tokens. */
export async function revokeGrantOf(admin: Administration, { userId }: Access) {
  const { grants } = (await admin.call('GET', `/grants?user_id=${userId}`)).json()
  return admin.call('DELETE', `/grants/${grants[0].grant_id}`)
}
