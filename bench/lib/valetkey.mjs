// Starts both services as in production, with a signed-in user, a client, a credential and files.
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { launchService } from '../../packages/dev-stack/lib/services/start-service.mjs'
import { onServerCore } from './cores.mjs'
import { signInAndAllow } from './signed-in.mjs'
import { createTestData, REDIRECT_URI, SCOPE } from './test-data.mjs'
import { tryStart, untilReady } from './until-ready.mjs'

/** Settings that are passed on; all others have their defaults. */
const PASSED_ON = [
  'CODE_TTL',
  'ACCESS_TOKEN_TTL',
  'REFRESH_RETRY_WINDOW',
  'LIMITS_FACTOR',
  'INTROSPECTION_CACHE_TTL',
  'LOG_LEVEL'
]

const local = (port) => `http://127.0.0.1:${port}`

/**
 * @param databaseUrls of the authorization server and of the resource server, both empty
 * @param node the Node that runs the services
 * @param refreshes whether the client gets refresh tokens
 * @param beforeStart gets the created data and the audience of tokens, and may add more to the databases
 */
export async function startValetkey({
  databaseUrls,
  redisUrl,
  directory,
  processes,
  environment = {},
  node = process.execPath,
  nodeOptions = [],
  refreshes = false,
  beforeStart = async () => {}
}) {
  const [databaseUrl, resourceDatabaseUrl] = databaseUrls
  mkdirSync(directory, { recursive: true })
  const ports = await Promise.all(Array.from({ length: 5 }, freePort))
  const [issuer, resourceUrl] = [local(ports[0]), local(ports[3])]
  const data = await createTestData({ databaseUrl, resourceDatabaseUrl, resourceUrl, directory, processes, refreshes })
  await beforeStart({ ...data, audience: resourceUrl })

  const given = Object.fromEntries(PASSED_ON.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])))
  // One user has all grants: the oldest of them must not end.
  const limits = { LIMITS_FACTOR: '1000' }
  const identifiers = { ISSUER: issuer, RESOURCE_URL: resourceUrl }
  const shared = { PATH: process.env.PATH, NODE_ENV: 'production', ...identifiers, ...limits, ...given }
  const start = createStart({ directory, processes, node, nodeOptions })
  const stores = { databaseUrl, resourceDatabaseUrl, redisUrl }
  const launch = launchers({ start, shared, stores, resourceServer: data.resourceServer })
  const handles = await startPair(launch, ports)

  const request = { response_type: 'code', client_id: data.client.id, redirect_uri: REDIRECT_URI, scope: SCOPE }
  const query = new URLSearchParams({ ...request, state: 'st4te' })
  const urls = urlsOf(ports, query)
  const cookie = await signInAndAllow(urls.codeUrl, data.user)
  return {
    ...data,
    cookie,
    ...urls,
    children: handles.map(({ child }) => child),
    pids: handles.map(({ child }) => child.pid),
    tryStarts: () => tryStarts(launch, ports[1])
  }
}

async function startPair(launch, [publicPort, internalPort, operatorPort, filesPort, filesOperatorPort]) {
  const authorizationServer = launch.authorizationServer([publicPort, internalPort, operatorPort])
  await untilReady(`${local(operatorPort)}/readyz`, authorizationServer)
  const resourceServer = launch.resourceServer([filesPort, filesOperatorPort], internalPort)
  await untilReady(`${local(filesOperatorPort)}/readyz`, resourceServer)
  return [authorizationServer, resourceServer]
}

function urlsOf([publicPort, internalPort, , filesPort], query) {
  return {
    authorizeUrl: `${local(publicPort)}/oauth/authorize`,
    codeUrl: `${local(publicPort)}/oauth/authorize?${query}`,
    tokenUrl: `${local(publicPort)}/token`,
    revokeUrl: `${local(publicPort)}/oauth/revoke`,
    introspectUrl: `${local(internalPort)}/introspect`,
    filesUrl: `${local(filesPort)}/v1/files`
  }
}

/** Start an instance of each service on the given ports. */
function launchers({ start, shared, stores, resourceServer }) {
  const keys = { COOKIE_KEYS: randomBytes(32).toString('hex'), PAGE_TOKEN_KEYS: randomBytes(32).toString('hex') }
  return {
    authorizationServer: ([publicPort, internalPort, operatorPort]) =>
      start('authorization-server', [publicPort, internalPort, operatorPort], {
        ...shared,
        DATABASE_URL: stores.databaseUrl,
        REDIS_URL: stores.redisUrl,
        COOKIE_KEYS: keys.COOKIE_KEYS
      }),

    resourceServer: ([publicPort, operatorPort], internalPort) =>
      start('resource-server', [publicPort, undefined, operatorPort], {
        ...shared,
        RESOURCE_DATABASE_URL: stores.resourceDatabaseUrl,
        PAGE_TOKEN_KEYS: keys.PAGE_TOKEN_KEYS,
        INTROSPECTION_URL: `${local(internalPort)}/introspect`,
        REVOCATIONS_URL: `${local(internalPort)}/revocations`,
        INTROSPECTION_CLIENT_ID: resourceServer.id,
        INTROSPECTION_CLIENT_SECRET: resourceServer.secret
      })
  }
}

/** See tryStart. Starts another instance of each service beside the running one. */
async function tryStarts(launch, internalPort) {
  const ports = await Promise.all(Array.from({ length: 5 }, freePort))
  const [own, files] = [ports.slice(0, 3), ports.slice(3)]
  return [
    await tryStart({ launch: () => launch.authorizationServer(own), url: `${local(own[2])}/readyz` }),
    await tryStart({ launch: () => launch.resourceServer(files, internalPort), url: `${local(files[1])}/readyz` })
  ]
}

function createStart({ directory, processes, node, nodeOptions }) {
  const adapt = (program) => onServerCore({ ...program, command: node })
  return (service, [PUBLIC_LISTEN, INTERNAL_LISTEN, OPERATOR_LISTEN], environment) => {
    const ports = { PUBLIC_LISTEN, INTERNAL_LISTEN, OPERATOR_LISTEN }
    return launchService({ processes, directory, service, ports, environment, nodeOptions, adapt })
  }
}
