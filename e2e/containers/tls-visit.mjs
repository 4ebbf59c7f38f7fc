// A separate process, because Node reads NODE_EXTRA_CA_CERTS only at the start. It reads its task from standard input and
// prints the results as JSON.
import dns from 'node:dns'
import { text } from 'node:stream/consumers'
import { createApp } from './app.mjs'

// Names below localhost are this machine (RFC 6761 §6.3), but not every resolver implements it.
const { lookup } = dns
dns.lookup = (host, ...rest) => lookup(host.endsWith('.localhost') ? '127.0.0.1' : host, ...rest)

const { issuer, resourceUrl, httpPort, client, user, claimed, traceId } = JSON.parse(await text(process.stdin))
const app = createApp({ issuer, resourceUrl, clientId: client.client_id, clientSecret: client.client_secret })

const metadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json()
const login = await fetch(`${issuer}/login`)
const { answer, codeVerifier } = await app.authorize(user, 'allow')
const { body: tokens } = await app.exchange(answer.code, codeVerifier)
const { body: page } = await app.listFiles(tokens.access_token)
const redirect = await fetch(`http://${new URL(issuer).hostname}:${httpPort}/login`, { redirect: 'manual' })
await app.failSignIn(user.username, {
  'x-forwarded-for': claimed,
  forwarded: `for=${claimed}`,
  traceparent: `00-${traceId}-00f067aa0ba902b7-01`
})

console.log(
  JSON.stringify({
    metadata,
    cookies: login.headers.getSetCookie(),
    files: page.files.map(({ name }) => name),
    redirect: { status: redirect.status, location: redirect.headers.get('location') }
  })
)
