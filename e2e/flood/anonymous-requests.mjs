// The requests that are possible without a credential, one function for each kind:
// `(number) => { listener, method, path, ... }`.
import { randomBytes } from 'node:crypto'

const FORM = 'application/x-www-form-urlencoded'
const LONG_STATE = 'x'.repeat(7_500)

const random = () => randomBytes(24).toString('base64url')
const form = (fields) => new URLSearchParams(fields).toString()
const post = (listener, path, fields, headers = {}) => ({
  listener,
  method: 'POST',
  path,
  headers: { 'content-type': FORM, ...headers },
  body: form(fields)
})
const basic = (id, secret) => ({ authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` })

/** @param app a registered client: `{ clientId, redirectUri, scope }`. Its id is public; its secret is not used. */
export function anonymousRequests({ clientId, redirectUri, scope }) {
  const query = { response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope }
  const authorize = (more) => ({
    listener: 'public',
    method: 'GET',
    path: `/oauth/authorize?${form({ ...query, ...more })}`
  })
  const code = { grant_type: 'authorization_code', redirect_uri: redirectUri }
  return {
    'authorize, long state': (number) => authorize({ state: `${number}-${LONG_STATE}` }),
    'authorize, unknown client': () => authorize({ client_id: random() }),
    'authorize, other redirect URI': () => authorize({ redirect_uri: 'https://attacker.example/' }),
    'authorize, unknown scope': () => authorize({ scope: random() }),
    'sign-in page': (number) => ({
      listener: 'public',
      method: 'GET',
      path: `/login?${form({ ...query, state: String(number) })}`
    }),
    'sign-in form of another site': () => post('public', '/login', { username: random(), password: random() }),
    'consent form of another site': () => post('public', `/consent?${form(query)}`, { decision: 'allow' }),
    'token, wrong secret': () =>
      post('public', '/token', { ...code, code: random(), client_id: clientId, client_secret: random() }),
    'token, unknown client': () =>
      post('public', '/token', { ...code, code: random(), client_id: random(), client_secret: random() }),
    'token, unreadable': () => ({ ...post('public', '/token', {}), body: '%zz&&&=' }),
    'revocation, wrong secret': () =>
      post('public', '/oauth/revoke', { token: random(), client_id: clientId, client_secret: random() }),
    'error page': () => ({ listener: 'public', method: 'GET', path: '/errors/invalid_grant' }),
    'unknown page': () => ({ listener: 'public', method: 'GET', path: `/${random()}` }),
    'introspection, wrong credential': () =>
      post('internal', '/introspect', { token: random() }, basic(random(), random())),
    'administration, wrong key': () => ({
      listener: 'operator',
      method: 'GET',
      path: '/admin/users',
      headers: { authorization: `Bearer ${random()}` }
    }),
    'files, made-up token': () => ({
      listener: 'files',
      method: 'GET',
      path: '/v1/files',
      headers: { authorization: `Bearer vk_at_${random()}` }
    })
  }
}
