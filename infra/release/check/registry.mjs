import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../../packages/dev-stack/lib/processes/ports.mjs'

const PROGRAM = 'docker-registry'
const START_LIMIT_MS = 30_000

export const hasContainerRegistry = () => spawnSync(PROGRAM, ['--version']).status === 0

/**
 * Starts a registry for images and charts on loopback.
 * @param {string} directory for its files
 * @returns {Promise<{ host: string, close(): Promise<void> }>} HOST:PORT
 */
export async function startContainerRegistry(directory) {
  const host = `127.0.0.1:${await freePort()}`
  mkdirSync(directory)
  const configuration = {
    version: '0.1',
    log: { level: 'error', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: directory } },
    http: { addr: host }
  }
  // JSON is YAML.
  const file = path.join(directory, 'config.yaml')
  writeFileSync(file, JSON.stringify(configuration))
  const child = spawn(PROGRAM, ['serve', file], { stdio: 'ignore' })
  process.once('exit', () => child.kill())
  const ended = new Promise((resolve) => child.once('close', resolve))
  const limit = Date.now() + START_LIMIT_MS
  while (!(await responds(`http://${host}/v2/`))) {
    if (child.exitCode !== null || Date.now() > limit) throw new Error(`${PROGRAM} did not start`)
    await wait(50)
  }
  return {
    host,
    async close() {
      child.kill()
      await ended
    }
  }
}

async function responds(url) {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false
  )
}
