// Two processes of the authorization server on one Postgres and one Redis, all of them gone when `stop` has ended.
import path from 'node:path'
import { programs } from '../../packages/dev-stack/lib/checkout.mjs'
import { commandLine } from '../../packages/dev-stack/lib/command-lines.mjs'
import { freePort } from '../../packages/dev-stack/lib/ports.mjs'
import { createProcesses } from '../../packages/dev-stack/lib/processes.mjs'
import { nodeProgram } from '../../packages/dev-stack/lib/programs.mjs'
import { waitUntilReady } from '../../packages/dev-stack/lib/readiness.mjs'
import { randomSecret } from '../../packages/dev-stack/lib/secrets.mjs'
import { makeTestDirectory, removeTestDirectory } from '../../packages/dev-stack/lib/test-directory.mjs'
import { startTestServers } from '../../packages/dev-stack/lib/test-servers.mjs'

export async function startInstances() {
  const processes = createProcesses()
  const { directory } = makeTestDirectory()
  const stop = async () => {
    await processes.stopAll()
    removeTestDirectory(directory)
  }
  try {
    const { postgresUrl, redisUrl } = await startTestServers(directory, processes)
    if (redisUrl === undefined) throw new Error('This needs redis-server or valkey-server on PATH.')
    const ports = [await freePort(), await freePort()]
    const issuer = `http://127.0.0.1:${ports[0]}`
    const { PATH } = process.env
    const environment = { PATH, ISSUER: issuer, RESOURCE_URL: 'https://files.example', DATABASE_URL: postgresUrl }
    const valetkey = commandLine({ service: 'authorization-server', environment, processes })
    await valetkey(['migrate'])
    const settings = { ...environment, REDIS_URL: redisUrl, COOKIE_KEYS: randomSecret(), LOG_LEVEL: 'warn' }
    const instances = []
    for (const [index, port] of ports.entries()) instances.push(await startInstance(index + 1, port, settings))
    return { issuer, instances, valetkey, stop }
  } catch (error) {
    await stop()
    throw error
  }

  async function startInstance(number, port, settings) {
    const [internalPort, operatorPort] = [await freePort(), await freePort()]
    const listeners = {
      PUBLIC_LISTEN: `127.0.0.1:${port}`,
      INTERNAL_LISTEN: `127.0.0.1:${internalPort}`,
      OPERATOR_LISTEN: `127.0.0.1:${operatorPort}`
    }
    const handle = processes.start({
      name: `authorization server ${number}`,
      program: nodeProgram(programs.authorizationServer),
      environment: { ...settings, ...listeners },
      logFile: path.join(directory, `authorization-server-${number}.log`)
    })
    await waitUntilReady(handle, `http://127.0.0.1:${operatorPort}/readyz`)
    return { publicPort: port, internalPort }
  }
}
