// A native app whose tokens work only with its key (DPoP, RFC 9449): signs in with Valetkey in the browser, and prints the list of
// files. A public client. Needs openid-client.
import { createServer } from 'node:http'
import * as client from 'openid-client'

const { ISSUER, RESOURCE_URL, CLIENT_ID } = process.env
const execute = ISSUER.startsWith('http:') ? [client.allowInsecureRequests] : []
const options = { algorithm: 'oauth2', execute }
const config = await client.discovery(new URL(ISSUER), CLIENT_ID, undefined, client.None(), options)
// Signs a proof for each request. An app that keeps its refresh token keeps this key, too, in the key store of the system.
const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair())

const verifier = client.randomPKCECodeVerifier()
const state = client.randomState()

// Port 0: any free port. Only the port may differ from the registered redirect URI.
const server = createServer()
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const redirectUri = `http://127.0.0.1:${server.address().port}/callback`

const address = client.buildAuthorizationUrl(config, {
  redirect_uri: redirectUri,
  scope: 'files.read',
  state,
  code_challenge: await client.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256'
})
console.log(`Open ${address.href}`)

const callback = await new Promise((resolve) => {
  server.on('request', (request, response) => {
    const url = new URL(request.url, redirectUri)
    // Other programs of this computer can send requests, too: ignore all but the response to this sign-in.
    const isExpected = url.pathname === '/callback' && url.searchParams.get('state') === state
    response.writeHead(isExpected ? 200 : 404, { 'content-type': 'text/plain', connection: 'close' })
    response.end(isExpected ? 'You can close this window.' : 'Not found')
    if (isExpected) resolve(url)
  })
})
server.close()

// Checks error, state and iss.
const checks = { expectedState: state, pkceCodeVerifier: verifier }
const tokens = await client.authorizationCodeGrant(config, callback, checks, undefined, { DPoP }).catch((error) => {
  console.error(`Sign-in failed: ${error.error ?? error.message}`)
  process.exit(1)
})
const list = new URL(`${RESOURCE_URL}/v1/files`)
const { access_token: accessToken } = tokens
const apiResponse = await client.fetchProtectedResource(config, accessToken, list, 'GET', null, undefined, { DPoP })
if (!apiResponse.ok) throw new Error(`The files API responds with ${apiResponse.status}`)
const { files } = await apiResponse.json()
for (const { name } of files) console.log(name)
