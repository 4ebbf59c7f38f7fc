// Sends each assertion of a client many times at once, to all endpoints of two processes: exactly one request is authenticated.
// Then clients with their keys at a jwks_uri, registered or in a document, refresh their tokens while they change their keys: no
// refresh is refused. At last the host of the keys is down: refreshes with a known key work, those with a new key get 503 with
// Retry-After, and each refresh token works once the host is back. Needs redis-server and openssl. Not run by npm test.
// node e2e/client-assertions.mjs [--assertions 200] [--parallel 50] [--refreshes 1000]
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createApp, exchangeForm, refreshForm } from '../packages/dev-stack/lib/client/app.mjs'
import { simulateUser } from '../packages/dev-stack/lib/client/user.mjs'
import { ALICE, REDIRECT_URI, registerClient, registerUser } from '../packages/dev-stack/lib/services/register.mjs'
import { makeTestDirectory, removeTestDirectory } from '../packages/dev-stack/lib/tests/test-directory.mjs'
import { createKey, credentialsOf } from './client-assertions/assertions.mjs'
import { startHost } from './client-assertions/host.mjs'
import { sendRequest } from './system/load/send-request.mjs'
import { readOptions, runOnCluster } from './system/run-on-cluster.mjs'
import { makeCertificates } from './system/stores/certificates.mjs'

const TIME_LIMIT_MINUTES = 10
/** Clients of each kind, and grants of each client that are refreshed at the same time. */
const CLIENTS_OF_KIND = 2
const GRANTS = 5
/** RFC 7636 appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }

/** Form and successful response of each endpoint; that of `/token` is a refusal of the code, after the authentication. */
const ENDPOINTS = [
  { at: '/token', form: { ...exchangeForm('unknown', REDIRECT_URI) }, accepted: '400 invalid_grant' },
  { at: '/oauth/revoke', form: { token: 'unknown' }, accepted: '200' },
  {
    at: '/oauth/par',
    form: { response_type: 'code', redirect_uri: REDIRECT_URI, scope: 'files.read', ...CHALLENGE },
    accepted: '201'
  }
]

const { assertions, parallel, refreshes } = readOptions({
  assertions: [200, 1, 10_000],
  parallel: [50, 2, 1_000],
  refreshes: [1_000, 20, 100_000]
})
const { directory } = makeTestDirectory()
const { ca, certificate, key } = makeCertificates(path.join(directory, 'tls'))
const host = await startHost({ certificate, key })
const settings = {
  CLIENT_ID_METADATA: 'open',
  CLIENT_ID_METADATA_ALLOW_LOOPBACK: 'true',
  NODE_EXTRA_CA_CERTS: ca
}
await runOnCluster({ minutes: TIME_LIMIT_MINUTES, settings }, async (cluster) => {
  try {
    await registerUser(cluster.valetkey)
    const race = await raceAssertions(cluster)
    const clients = await addClients(cluster)
    const rotation = await rotateKeys(cluster, clients)
    const outage = await loseHost(cluster, clients)
    const parts = [race, rotation, outage]
    return [parts.every(({ isRight }) => isRight) ? 0 : 1, parts.flatMap(({ lines }) => lines)]
  } finally {
    await host.close()
    await removeTestDirectory(directory)
  }
})

async function raceAssertions({ issuer, authorizationServers: instances, valetkey }) {
  const signer = await createKey()
  const file = path.join(directory, 'race.json')
  writeFileSync(file, JSON.stringify(signer.jwk))
  const options = ['--auth-method', 'private_key_jwt', '--jwks', file]
  const { clientId } = await registerClient(valetkey, { name: 'Race', options })
  const send = async (credentials, index) => {
    const { at, form, accepted } = ENDPOINTS[index % ENDPOINTS.length]
    const { publicPort } = instances[index % instances.length]
    const { status, body } = await sendRequest(publicPort, 'POST', at, { form: { ...form, ...credentials } })
    const kind = status < 300 ? `${status}` : `${status} ${JSON.parse(body).error}`
    return { kind: `${at}: ${kind}`, isAccepted: kind === accepted, isRefused: kind === '401 invalid_client' }
  }
  // A process is notified of a new client a moment after its registration.
  for (const index of instances.keys()) {
    while ((await send(await credentialsOf(issuer, clientId, signer), index)).isRefused) await wait(20)
  }
  const counts = new Map()
  let notOnce = 0
  let unexpected = 0
  const startedAt = performance.now()
  for (let done = 0; done < assertions; done += 1) {
    const credentials = await credentialsOf(issuer, clientId, signer)
    const answers = await Promise.all(Array.from({ length: parallel }, (_, index) => send(credentials, index)))
    for (const { kind } of answers) count(counts, kind)
    unexpected += answers.filter(({ isAccepted, isRefused }) => !isAccepted && !isRefused).length
    if (answers.filter(({ isAccepted }) => isAccepted).length !== 1) notOnce += 1
  }
  const seconds = (performance.now() - startedAt) / 1000
  return {
    isRight: notOnce === 0 && unexpected === 0,
    lines: [
      `${assertions} assertions, each sent ${parallel} times at once to ${instances.length} processes, in ${seconds.toFixed(1)} s`,
      ...[...counts].toSorted().map(([kind, count]) => `${kind}: ${count}`),
      `assertions that did not authenticate exactly one request: ${notOnce}`,
      `other responses: ${unexpected}`
    ]
  }
}

/** A client whose keys are at its `jwks_uri`, registered or with a document, and tokens of its grants. */
async function addClient({ issuer, authorizationServers: [first], valetkey }, name, kind) {
  const jwksUri = host.urlOf(`${name}-keys.json`)
  const method = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: jwksUri }
  const publish = (...keys) => host.publish(`${name}-keys.json`, { keys: keys.map(({ jwk }) => jwk) })
  const client = { name, signer: await createKey(), publish, refreshTokens: [] }
  publish(client.signer)
  if (kind === 'document') {
    client.clientId = host.urlOf(`${name}.json`)
    host.publish(`${name}.json`, {
      client_id: client.clientId,
      client_name: name,
      redirect_uris: [REDIRECT_URI],
      ...method
    })
  } else {
    const options = ['--consent', 'remember', '--auth-method', 'private_key_jwt', '--jwks-uri', jwksUri]
    client.clientId = (await registerClient(valetkey, { name, options })).clientId
  }
  const registration = { issuer, clientId: client.clientId, redirectUri: REDIRECT_URI, scope: 'files.read' }
  const start = createApp(registration).authorizeUrl(CHALLENGE)
  const user = simulateUser(issuer, ALICE)
  for (let grant = 0; grant < GRANTS; grant += 1) {
    const exchange = { ...exchangeForm(await user.code(start), REDIRECT_URI), code_verifier: VERIFIER }
    const form = { ...exchange, ...(await credentialsOf(issuer, client.clientId, client.signer)) }
    const { status, body } = await sendRequest(first.publicPort, 'POST', '/token', { form })
    if (status !== 200) throw new Error(`${name} got no tokens: ${status} ${body}`)
    client.refreshTokens.push(JSON.parse(body).refresh_token)
  }
  return client
}

async function addClients(cluster) {
  await cluster.valetkey(['scopes', 'update', 'files.read', '--discoverable', '--json'])
  const clients = []
  for (const kind of ['registered', 'document']) {
    for (let number = 1; number <= CLIENTS_OF_KIND; number += 1)
      clients.push(await addClient(cluster, `${kind}-${number}`, kind))
  }
  return clients
}

/** Refreshes one grant of a client. After a refusal the next call sends the same refresh token again. */
async function refreshGrant({ issuer, authorizationServers: instances }, client, grant, turn) {
  const { publicPort } = instances[turn % instances.length]
  const credentials = await credentialsOf(issuer, client.clientId, client.signer)
  const form = { ...refreshForm(client.refreshTokens[grant]), ...credentials }
  const { status, headers, body } = await sendRequest(publicPort, 'POST', '/token', { form })
  const answer = JSON.parse(body)
  if (status === 200) client.refreshTokens[grant] = answer.refresh_token
  return { status, kind: status === 200 ? '200' : `${status} ${answer.error}`, retryAfter: headers['retry-after'] }
}

async function rotateKeys(cluster, clients) {
  const counts = new Map()
  const fetchesBefore = host.fetches()
  let sent = 0
  let rotations = 0
  /** Each client changes its key once, at another time: it publishes the new key beside the old one, and uses it at once. */
  async function rotate(client, index) {
    while (sent < (refreshes * (index + 1)) / (clients.length + 1)) await wait(5)
    const next = await createKey()
    client.publish(client.signer, next)
    client.signer = next
    rotations += 1
  }
  async function keepRefreshing(client, grant) {
    while (sent < refreshes) {
      sent += 1
      const { status, kind } = await refreshGrant(cluster, client, grant, sent + grant)
      count(counts, status === 200 ? kind : `${client.name}: ${kind}`)
    }
  }
  const startedAt = performance.now()
  await Promise.all([
    ...clients.map(rotate),
    ...clients.flatMap((client) => client.refreshTokens.map((_, grant) => keepRefreshing(client, grant)))
  ])
  const seconds = (performance.now() - startedAt) / 1000
  return {
    isRight: counts.get('200') === refreshes && rotations === clients.length,
    lines: [
      `${refreshes} refreshes of ${clients.length} clients, ${rotations} changes of their keys, in ${seconds.toFixed(1)} s`,
      ...[...counts].toSorted().map(([kind, count]) => `${kind}: ${count}`),
      `refused refreshes: ${refreshes - (counts.get('200') ?? 0)}`,
      `requests to the host of the keys: ${host.fetches() - fetchesBefore}`
    ]
  }
}

/** The host accepts connections and closes them. One client of each kind has a new key, which only the host knows. */
async function loseHost(cluster, clients) {
  host.setDown(true)
  const withNewKey = clients.filter((_, index) => index % CLIENTS_OF_KIND === 0)
  for (const client of withNewKey) {
    const next = await createKey()
    client.publish(client.signer, next)
    client.signer = next
  }
  const counts = new Map()
  let sent = 0
  let wrong = 0
  async function keepRefreshing(client, grant) {
    const expected = withNewKey.includes(client) ? '503 temporarily_unavailable' : '200'
    while (sent < refreshes) {
      sent += 1
      const { kind, status, retryAfter } = await refreshGrant(cluster, client, grant, sent + grant)
      count(counts, `${withNewKey.includes(client) ? 'new' : 'known'} key: ${kind}`)
      if (kind !== expected || (status === 503 && !(Number(retryAfter) > 0))) wrong += 1
    }
  }
  const ofEachGrant = (work) =>
    Promise.all(clients.flatMap((client) => client.refreshTokens.map((_, grant) => work(client, grant))))
  await ofEachGrant(keepRefreshing)
  host.setDown(false)
  let discarded = 0
  // The server asks the host again some seconds after a failure.
  await ofEachGrant(async (client, grant) => {
    let answer = await refreshGrant(cluster, client, grant, grant)
    for (; answer.status === 503; answer = await refreshGrant(cluster, client, grant, grant)) await wait(500)
    if (answer.status !== 200) discarded += 1
  })
  return {
    isRight: wrong === 0 && discarded === 0,
    lines: [
      `${refreshes} refreshes while the host of the keys is down`,
      ...[...counts].toSorted().map(([kind, count]) => `${kind}: ${count}`),
      `unexpected responses: ${wrong}`,
      `refresh tokens that do not work after it: ${discarded}`
    ]
  }
}

function count(counts, kind) {
  counts.set(kind, (counts.get(kind) ?? 0) + 1)
}
