import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../dev-stack/lib/processes/ports.mjs'

/**
 * Starts verdaccio, a package registry, on loopback.
 * @param {string} directory an empty folder for its files
 * @param {string} uplink the registry of all packages that are not published to this one
 */
export async function startLocalRegistry(directory, uplink) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  mkdirSync(directory)
  writeFileSync(path.join(directory, 'config.yaml'), configuration(uplink))
  const child = fork(
    programOf('verdaccio'),
    ['--config', path.join(directory, 'config.yaml'), '--listen', `127.0.0.1:${port}`],
    { cwd: directory, execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }
  )
  // If the tests end early.
  process.once('exit', () => child.kill())
  const ended = new Promise((resolve) => child.once('close', resolve))
  // verdaccio sends a message when it listens.
  const end = await Promise.race([once(child, 'message').then(() => undefined), ended])
  if (end !== undefined) fail(`verdaccio ended with ${end}`)
  return {
    url,
    async close() {
      child.kill()
      await ended
    }
  }
}

/**
 * Anonymous clients may publish our packages. Other packages are not stored.
 * @param {string} uplink
 */
const configuration = (uplink) => `
storage: ./storage
uplinks:
  store:
    url: ${uplink}
    cache: false
packages:
  '@valetkey/*':
    access: $all
    publish: $all
  '**':
    access: $all
    proxy: store
log: { type: stdout, level: error }
`

/**
 * The program of an installed package.
 * @param {string} name
 */
export function programOf(name) {
  const folder = fileURLToPath(new URL(`../../node_modules/${name}`, import.meta.url))
  const { bin } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  return path.join(folder, typeof bin === 'string' ? bin : String(Object.values(bin)[0]))
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  throw new Error(message)
}
