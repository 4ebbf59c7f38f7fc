import { execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../../packages/dev-stack/lib/processes/ports.mjs'
import { createUpstreamVisitor, type UpstreamVisitor } from './upstream-visitor.js'

/** Glewlwyd does not decode the secret in Basic (RFC 6749 §2.3.1), so it has no character that is encoded. */
export const GLEWLWYD = { clientId: 'valetkey', clientSecret: 'SecretOfGlewlwyd', password: 'a password' }

type ClientUris = { redirectUri: string; postLogoutRedirectUri: string; backChannelLogoutUri: string }

/** Three issuers, which sign their ID tokens with RS256, RS512 and HS256. */
const PLUGINS = ['RS256', 'RS512', 'HS256']

const SCHEMA = '/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3'

/**
 * Glewlwyd, an OpenID provider in C of other authors, from the Debian package: its own process, a database in a temporary
 * folder, one client and the user `berta`.
 */
export async function startGlewlwyd(uris: ClientUris) {
  const folder = mkdtempSync(path.join(tmpdir(), 'glewlwyd-'))
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const database = path.join(folder, 'glewlwyd.db')
  execFileSync('sqlite3', [database], { input: schema() })
  const configuration = path.join(folder, 'glewlwyd.conf')
  writeFileSync(configuration, settings(port, address, database))
  const child = spawn('glewlwyd', [`--config-file=${configuration}`], { stdio: 'ignore' })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const isUp = () =>
    fetch(`${address}/api/`).then(
      () => true,
      () => false
    )
  while (!(await isUp())) {
    if (child.exitCode !== null) throw new Error(`glewlwyd ended with ${child.exitCode}: ${readdirSync(folder)}`)
    await sleep(50)
  }
  await prepare(address, uris)
  return {
    issuer: issuerOf(address, 'RS256'),
    rs512Issuer: issuerOf(address, 'RS512'),
    /** Signs with a shared secret. */
    hs256Issuer: issuerOf(address, 'HS256'),
    address,
    async close() {
      child.kill()
      await exited
      rmSync(folder, { recursive: true })
    }
  }
}

export type Glewlwyd = Awaited<ReturnType<typeof startGlewlwyd>>

/** The user's browser at Glewlwyd: signs in, allows the client, and returns to the redirect URI. */
export async function visitGlewlwyd(glewlwyd: Glewlwyd, start: string, visitor = createUpstreamVisitor()) {
  const send = (method: string, url: string, body: unknown) =>
    visitor.request(`${glewlwyd.address}${url}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
  const login = await visitor.request(start)
  await send('POST', '/api/auth/', { username: 'berta', password: GLEWLWYD.password })
  await send('PUT', `/api/auth/grant/${GLEWLWYD.clientId}`, { scope: 'openid profile' })
  const callback = new URL(login.headers.get('location') ?? '').searchParams.get('callback_url')
  const back = await visitor.request(`${callback}&g_continue`)
  return { url: back.headers.get('location') ?? '' }
}

/** The same browser, at the end of the session: its login page confirms, and returns to the client. */
export async function leaveGlewlwyd(glewlwyd: Glewlwyd, start: string, visitor: UpstreamVisitor) {
  const login = await visitor.request(start)
  const { searchParams } = new URL(login.headers.get('location') ?? '')
  if (!searchParams.has('callback_url')) throw new Error(`no way back: ${login.status} ${searchParams}`)
  await visitor.request(`${glewlwyd.issuer}/session/${searchParams.get('sid')}`, { method: 'DELETE' })
  return { url: searchParams.get('callback_url') ?? '' }
}

async function prepare(address: string, uris: ClientUris) {
  const admin = createUpstreamVisitor()
  const post = async (url: string, body: unknown) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await admin.request(`${address}/api${url}`, init)
    if (response.status !== 200) throw new Error(`glewlwyd refused ${url}: ${await response.text()}`)
  }
  await post('/auth/', { username: 'admin', password: 'password' })
  for (const [order_rank, alg] of PLUGINS.entries()) {
    await post('/mod/plugin/', {
      module: 'oidc',
      name: alg,
      display_name: alg,
      order_rank,
      readonly: false,
      parameters: pluginParameters(issuerOf(address, alg), alg)
    })
  }
  await post('/scope/', {
    name: 'profile',
    display_name: 'Profile',
    description: 'Profile',
    password_required: true,
    scheme: {}
  })
  const user = { username: 'berta', name: 'Berta Example', password: GLEWLWYD.password, enabled: true }
  await post('/user/?source=database', { ...user, scope: ['openid', 'profile', 'g_profile'] })
  await post('/client/?source=database', {
    client_id: GLEWLWYD.clientId,
    name: 'Valetkey',
    confidential: true,
    enabled: true,
    scope: [],
    client_secret: GLEWLWYD.clientSecret,
    password: GLEWLWYD.clientSecret,
    redirect_uri: [uris.redirectUri],
    authorization_type: ['code'],
    post_logout_redirect_uris: [uris.postLogoutRedirectUri],
    backchannel_logout_uri: uris.backChannelLogoutUri,
    token_endpoint_auth_method: ['client_secret_basic']
  })
}

const issuerOf = (address: string, alg: string) => `${address}/api/${alg}`

function pluginParameters(issuer: string, alg: string) {
  const keySize = alg.slice(2)
  const on = [
    'session-management-allowed',
    'back-channel-logout-allowed',
    'auth-type-code-enabled',
    'auth-type-id-token-enabled',
    'auth-type-refresh-enabled',
    'jwks-show'
  ]
  const allowed = ['pkce-allowed', 'refresh-token-rolling']
  const off = [
    'allow-non-oidc',
    'auth-type-token-enabled',
    'auth-type-none-enabled',
    'auth-type-password-enabled',
    'auth-type-client-enabled',
    'auth-type-device-enabled',
    'pkce-method-plain-allowed'
  ]
  return {
    ...Object.fromEntries([...on, ...allowed].map((name) => [name, true])),
    ...Object.fromEntries(off.map((name) => [name, false])),
    'session-cookie-name': 'GLEWLWYD2_OIDC_SID',
    'session-cookie-expiration': 2_419_200,
    iss: issuer,
    ...signingKey(alg),
    'jwt-key-size': keySize,
    'subject-type': 'public',
    'allowed-scope': ['openid', 'profile'],
    'access-token-duration': 3600,
    'refresh-token-duration': 3600,
    'code-duration': 60,
    'name-claim': 'on-demand',
    'name-claim-scope': ['profile'],
    'email-claim': 'no',
    'scope-claim': 'no',
    claims: [{ name: 'preferred_username', 'user-property': 'username', type: 'string', mandatory: true, scope: [] }],
    'client-redirect_uri-parameter': 'redirect_uri'
  }
}

function signingKey(alg: string) {
  if (alg.startsWith('HS')) return { 'jwt-type': 'sha', key: randomBytes(32).toString('base64url') }
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...privateKey.export({ format: 'jwk' }), kid: 'k1', alg, use: 'sig' }
  return { 'jwt-type': 'rsa', 'jwks-private': JSON.stringify({ keys: [key] }), 'default-kid': 'k1' }
}

function settings(port: number, address: string, database: string): string {
  return `port=${port}
bind_address="127.0.0.1"
external_url="${address}"
login_url="login.html"
api_prefix="api"
log_mode="console"
log_level="ERROR"
session_key="GLEWLWYD2_SESSION_ID"
session_expiration=3600
admin_session_authentication="cookie"
profile_session_authentication="cookie"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
hash_algorithm="SHA512"
database = { type = "sqlite3"; path = "${database}"; };
`
}

/** The package declares a member of clients that its plugin does not read: it reads the one of the specification, a list. */
function schema(): string {
  const declared = '"post_logout_redirect_uri":{"multiple":false'
  return readFileSync(SCHEMA, 'utf8').replace(declared, '"post_logout_redirect_uris":{"multiple":true')
}
