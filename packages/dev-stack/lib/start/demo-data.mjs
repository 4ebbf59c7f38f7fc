// The demo user, client and resource server credential. They are created once and recreated if the database lost them.
import { createHash } from 'node:crypto'
import { CommandFailed } from './command-lines.mjs'

/** @import { CommandLine } from './command-lines.mjs' */
/** @import { Credential, Remembered, Secrets } from './secrets.mjs' */

const USERNAME = 'alice'
const CLIENT_NAME = 'Photo Printer'

/**
 * The stored ids and secrets for one database. Another DATABASE_URL has its own.
 * @param {Secrets} secrets
 * @param {NodeJS.ProcessEnv} caller
 */
export function rememberedOf(secrets, caller) {
  const key =
    caller.DATABASE_URL === undefined
      ? 'embedded'
      : createHash('sha256').update(caller.DATABASE_URL).digest('hex').slice(0, 16)
  secrets.demo[key] ??= {}
  return secrets.demo[key]
}

/**
 * @param {CommandLine} valetkey
 * @param {Remembered} remembered
 * @param {string} password
 * @returns the demo user; `password` is undefined if this checkout did not create the user
 */
export async function ensureUser(valetkey, remembered, password) {
  /** @typedef {{ user_id: string, username: string }} User */
  /** @type {User[] | { users: User[] }} */
  const listed = await valetkey(['users', 'list', '--json'])
  const users = Array.isArray(listed) ? listed : listed.users
  const found = users.find(({ username }) => username === USERNAME)
  if (found !== undefined) {
    const known = remembered.userId === found.user_id
    return { id: found.user_id, username: USERNAME, password: known ? password : undefined }
  }
  /** @type {{ user_id: string }} */
  const created = await valetkey(['users', 'create', USERNAME, '--password-stdin', '--json'], {
    input: `${password}\n`
  })
  remembered.userId = created.user_id
  return { id: created.user_id, username: USERNAME, password }
}

/**
 * @param {CommandLine} valetkey
 * @param {Remembered} remembered
 * @param {string} demoUrl
 * @returns the demo client's id and secret
 */
export async function ensureClient(valetkey, remembered, demoUrl) {
  const redirectUri = `${demoUrl}/callback`
  if (remembered.clientId !== undefined && fits(remembered.redirectUri, redirectUri)) {
    const known = await valetkey(['clients', 'show', remembered.clientId, '--json']).catch(unknownClient)
    if (known !== undefined) return { id: remembered.clientId, secret: remembered.clientSecret ?? '' }
  }
  /** @type {{ client_id: string, client_secret: string }} */
  const created = await valetkey([
    'clients',
    'create',
    '--name',
    CLIENT_NAME,
    '--redirect-uri',
    redirectUri,
    '--scope',
    'files.read',
    '--json'
  ])
  Object.assign(remembered, { clientId: created.client_id, clientSecret: created.client_secret, redirectUri })
  return { id: created.client_id, secret: created.client_secret }
}

/**
 * The id and the secret are created here, so the commands may be repeated.
 * @param {CommandLine} valetkey
 * @param {Credential} credential
 * @param {string} resourceUrl
 * @param {string | undefined} dpop whether the service binds tokens to keys: then tokens for this API, too
 */
export async function ensureResourceServer(valetkey, credential, resourceUrl, dpop) {
  const { id, secret } = credential
  const titles = ['--title', 'Files', '--title-in', 'de=Dateien', '--title-in', 'ar=الملفات']
  const described = ['--name', 'files', ...titles, '--audience', resourceUrl]
  const created = ['resource-servers', 'create', ...described, '--client-id', id, '--secret-stdin', '--json']
  await valetkey(created, { input: `${secret}\n` })
  if (dpop) await valetkey(['resource-servers', 'update', id, '--dpop', dpop, '--json'])
}

/**
 * Other errors occur again, with a message, when the client is created.
 * @param {unknown} error
 */
function unknownClient(error) {
  if (error instanceof CommandFailed) return undefined
  throw error
}

/**
 * On loopback addresses any port is valid (RFC 8252 §7.3), so another port needs no new client.
 * @param {string | undefined} registered
 * @param {string} wanted
 */
function fits(registered, wanted) {
  /** @param {string | undefined} uri */
  const withoutPort = (uri) => uri?.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d+/, '$1')
  return withoutPort(registered) === withoutPort(wanted)
}
