// A login page that hands its users over to Valetkey. README.md explains each step. It uses only modules of Node.
import { createPrivateKey, randomUUID, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { VALETKEY_ISSUER, LOGIN_ISSUER, LOGIN_PRIVATE_KEY_FILE, PORT = '4700' } = process.env
const key = createPrivateKey(readFileSync(LOGIN_PRIVATE_KEY_FILE))
const callback = `${VALETKEY_ISSUER}/login/handoff/callback`

// Instead of this list: your users, with your way to check their passwords.
const users = new Map([['alice', { id: 'u-1001', name: 'Alice Example', password: 'only for this example' }]])

/** A JWT (RFC 7519), signed with ES256. `sub` is an id that never changes and never gets another owner. */
function assertionFor(user, request) {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: LOGIN_ISSUER, aud: VALETKEY_ISSUER, sub: user.id, name: user.name, jti: randomUUID() }
  const times = { iat: now, exp: now + 60, auth_time: now }
  const parts = [
    { alg: 'ES256', typ: 'valetkey-login+jwt' },
    { ...claims, nonce: request, ...times }
  ]
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

function page(request, problem = '') {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>Example Login</title><main><h1>Example Login</h1><p role="alert">${problem}</p><form method="post">
<input type="hidden" name="request" value="${request}">
<p><label>User name <input name="username" autocomplete="username" required></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password" required></label></p>
<p><button>Sign in</button> <a href="${callback}?request=${request}&amp;error=access_denied">Cancel</a></p></form></main>`
}

const server = createServer(async (incoming, response) => {
  const send = (status, headers, body = '') =>
    response.writeHead(status, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', ...headers }).end(body)
  const html = { 'content-type': 'text/html; charset=utf-8' }
  const form =
    incoming.method === 'POST' ? await readForm(incoming) : new URL(incoming.url, 'http://localhost').searchParams
  const request = form.get('request') ?? ''
  // The page accepts only what Valetkey sends: the value is written into the page and into an address.
  if (!/^[A-Za-z0-9_-]{43}$/.test(request)) return send(400, html, 'Start again in the app.')
  if (incoming.method !== 'POST') return send(200, html, page(request))
  const user = users.get(form.get('username'))
  if (user?.password !== form.get('password')) return send(422, html, page(request, 'User name or password is wrong.'))
  send(303, { location: `${callback}?assertion=${assertionFor(user, request)}` })
})

async function readForm(incoming) {
  let body = ''
  for await (const chunk of incoming) if (body.length < 10_000) body += chunk
  return new URLSearchParams(body)
}

server.listen(Number(PORT), '127.0.0.1', () => {
  process.stdout.write(`login page on port ${server.address().port}\n`)
})
