// Registers what most tests and benchmarks need, with the command line.

/** @import { CommandLine } from '../start/command-lines.mjs' */
/** @import { Account } from '../client/user.mjs' */

/** @type {Account} */
export const ALICE = { username: 'alice', password: 'correct horse battery staple' }
export const REDIRECT_URI = 'https://app.example/callback'

/**
 * @param {CommandLine} valetkey
 * @param {Account} account
 * @returns {Promise<string>} the user id
 */
export async function registerUser(valetkey, { username, password } = ALICE) {
  /** @type {{ user_id: string }} */
  const user = await valetkey(['users', 'create', username, '--password-stdin', '--json'], { input: password })
  return user.user_id
}

/**
 * @param {CommandLine} valetkey
 * @param {object} [client]
 * @param {string} [client.name]
 * @param {string} [client.redirectUri]
 * @param {string} [client.scope]
 * @param {readonly string[]} [client.options] more options of `clients create`; by default consent is remembered
 */
export async function registerClient(valetkey, client = {}) {
  const { name = 'Load', redirectUri = REDIRECT_URI, scope = 'files.read' } = client
  const { options = ['--consent', 'remember'] } = client
  const named = ['clients', 'create', '--name', name, '--redirect-uri', redirectUri, '--scope', scope]
  /** @type {{ client_id: string, client_secret: string }} */
  const created = await valetkey([...named, ...options, '--json'])
  const { client_id: clientId, client_secret: clientSecret } = created
  return { clientId, clientSecret, redirectUri, scope }
}

/**
 * @param {CommandLine} valetkey
 * @param {string} audience
 * @param {string} [name]
 * @returns {Promise<{ client_id: string, client_secret: string }>} its credential
 */
export function registerResourceServer(valetkey, audience, name = 'files') {
  const created = ['resource-servers', 'create', '--name', name, '--audience', audience, '--json']
  return valetkey(created)
}
