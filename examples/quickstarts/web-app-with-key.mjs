// A web app whose client has a key instead of a secret: signs in with Valetkey and lists the user's files. Needs openid-client.
import { createPrivateKey, webcrypto } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import * as client from 'openid-client'

const { ISSUER, RESOURCE_URL, CLIENT_ID, CLIENT_KEY_FILE, PORT } = process.env
const baseUrl = `http://127.0.0.1:${PORT}`
// Plain http is for one machine only.
const execute = ISSUER.startsWith('http:') ? [client.allowInsecureRequests] : []
const options = { algorithm: 'oauth2', execute }
// Signs an assertion with ES256 for each request to the token endpoint (RFC 7523).
const der = createPrivateKey(readFileSync(CLIENT_KEY_FILE)).export({ type: 'pkcs8', format: 'der' })
const key = await webcrypto.subtle.importKey('pkcs8', der, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
const config = await client.discovery(new URL(ISSUER), CLIENT_ID, undefined, client.PrivateKeyJwt(key), options)

async function startSignIn(response) {
  const [state, verifier] = [client.randomState(), client.randomPKCECodeVerifier()]
  const cookie = `sign_in_${state}=${verifier}; HttpOnly; SameSite=Lax; Path=/callback; Max-Age=600`
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: `${baseUrl}/callback`,
    scope: 'files.read',
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256'
  })
  response.writeHead(303, { location: address.href, 'set-cookie': cookie }).end()
}

async function finishSignIn(request, url) {
  // The cookie shows that this browser started the sign-in.
  const state = url.searchParams.get('state') ?? ''
  const cookies = (request.headers.cookie ?? '').split('; ').map((cookie) => cookie.split('='))
  const verifier = new Map(cookies).get(`sign_in_${state}`)
  if (verifier === undefined) throw new Error('start again at /sign-in')
  // Checks error and iss (RFC 9207), too.
  const checks = { expectedState: state, pkceCodeVerifier: verifier }
  const { access_token: accessToken } = await client.authorizationCodeGrant(config, url, checks)
  const list = new URL(`${RESOURCE_URL}/v1/files`)
  const apiResponse = await client.fetchProtectedResource(config, accessToken, list, 'GET')
  if (!apiResponse.ok) throw new Error(`the files API responds with ${apiResponse.status}`)
  const { files } = await apiResponse.json()
  return files.map(({ name }) => `${name}\n`).join('')
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, baseUrl)
  const text = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
  try {
    if (url.pathname === '/sign-in') await startSignIn(response)
    else if (url.pathname !== '/callback') response.writeHead(404, text).end('Not found')
    else {
      const names = await finishSignIn(request, url)
      response.writeHead(200, text).end(names)
    }
  } catch (error) {
    response.writeHead(502, text).end(`Sign-in failed: ${error.error ?? error.message}`)
  }
})
server.listen(PORT, '127.0.0.1', () => console.log(`Open ${baseUrl}/sign-in`))
