// Both services as they run in production, with a signed-in user, a client, a credential and files, ready to be measured.
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { programs } from '../../packages/dev-stack/lib/checkout.mjs'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { serviceProgram } from '../../packages/dev-stack/lib/processes/programs.mjs'
import { fillBooks, REDIRECT_URI, SCOPE } from './books.mjs'
import { onServerCore } from './cores.mjs'
import { signInAndAllow } from './signed-in.mjs'
import { tryStart, untilReady } from './until-ready.mjs'

/** What may be set from outside; everything else is as it comes. */
const PASSED_ON = ['CODE_TTL', 'ACCESS_TOKEN_TTL', 'LIMITS_FACTOR', 'INTROSPECTION_CACHE_TTL', 'LOG_LEVEL']

/**
 * @param databaseUrls of the authorization server and of the resource server, both empty
 * @param node the Node that runs the services
 * @param refreshes whether the client gets refresh tokens
 * @param beforeStart is told what the books hold and the audience of tokens, and may put more into the databases
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
  const [publicPort, internalPort, operatorPort, filesPort, filesOperatorPort] = ports
  const local = (port) => `http://127.0.0.1:${port}`
  const [issuer, internalUrl, resourceUrl] = [publicPort, internalPort, filesPort].map(local)
  const books = await fillBooks({ databaseUrl, resourceDatabaseUrl, resourceUrl, directory, processes, refreshes })
  await beforeStart({ ...books, audience: resourceUrl })

  const given = Object.fromEntries(PASSED_ON.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])))
  const shared = { PATH: process.env.PATH, NODE_ENV: 'production', ISSUER: issuer, RESOURCE_URL: resourceUrl, ...given }
  const authorizationServer = authorizationServerOn([publicPort, internalPort, operatorPort])
  await untilReady(`${local(operatorPort)}/readyz`, authorizationServer)
  const resourceServer = resourceServerOn([filesPort, filesOperatorPort])
  await untilReady(`${local(filesOperatorPort)}/readyz`, resourceServer)

  const authorizeUrl = `${issuer}/oauth/authorize`
  const request = { response_type: 'code', client_id: books.client.id, redirect_uri: REDIRECT_URI, scope: SCOPE }
  const query = new URLSearchParams({ ...request, state: 'st4te' })
  const cookie = await signInAndAllow(`${authorizeUrl}?${query}`, books.user)
  return {
    ...books,
    cookie,
    authorizeUrl,
    codeUrl: `${authorizeUrl}?${query}`,
    tokenUrl: `${issuer}/token`,
    introspectUrl: `${internalUrl}/introspect`,
    filesUrl: `${resourceUrl}/v1/files`,
    children: [authorizationServer.child, resourceServer.child],
    pids: [authorizationServer.child.pid, resourceServer.child.pid],
    tryStarts
  }

  function authorizationServerOn([publicly, internally, forOperators]) {
    return start('authorization-server', programs.authorizationServer, {
      ...shared,
      PUBLIC_LISTEN: `127.0.0.1:${publicly}`,
      INTERNAL_LISTEN: `127.0.0.1:${internally}`,
      OPERATOR_LISTEN: `127.0.0.1:${forOperators}`,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      COOKIE_KEYS: randomBytes(32).toString('hex')
    })
  }

  function resourceServerOn([publicly, forOperators]) {
    return start('resource-server', programs.resourceServer, {
      ...shared,
      PUBLIC_LISTEN: `127.0.0.1:${publicly}`,
      OPERATOR_LISTEN: `127.0.0.1:${forOperators}`,
      RESOURCE_DATABASE_URL: resourceDatabaseUrl,
      PAGE_TOKEN_KEYS: randomBytes(32).toString('hex'),
      INTROSPECTION_URL: `${internalUrl}/introspect`,
      REVOCATIONS_URL: `${internalUrl}/revocations`,
      INTROSPECTION_CLIENT_ID: books.resourceServer.id,
      INTROSPECTION_CLIENT_SECRET: books.resourceServer.secret
    })
  }

  /** See tryStart: another instance of each service, beside the one that runs. */
  async function tryStarts() {
    const free = await Promise.all(Array.from({ length: 5 }, freePort))
    const [own, files] = [free.slice(0, 3), free.slice(3)]
    return [
      await tryStart({ launch: () => authorizationServerOn(own), url: `${local(own[2])}/readyz` }),
      await tryStart({ launch: () => resourceServerOn(files), url: `${local(files[1])}/readyz` })
    ]
  }

  function start(name, file, variables) {
    const program = onServerCore({ ...serviceProgram(file, nodeOptions), command: node })
    return processes.start({ name, program, environment: variables, logFile: path.join(directory, `${name}.log`) })
  }
}
