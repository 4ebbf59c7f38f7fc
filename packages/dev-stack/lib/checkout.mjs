// Paths of the programs in this checkout, and of the folder in which a running stack stores its data.
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeOf } from './error-code.mjs'

/** @typedef {ReturnType<typeof dataFiles>} DataFiles */

export const checkout = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')

export const programs = {
  authorizationServer: path.join(checkout, 'services/authorization-server/dist/main.js'),
  emulatedAuthorizationServer: fileURLToPath(new URL('./start/emulated-authorization-server.mjs', import.meta.url)),
  resourceServer: path.join(checkout, 'services/resource-server/dist/main.js'),
  demoClient: path.join(checkout, 'examples/demo-client/dist/main.js'),
  demoProvider: fileURLToPath(new URL('./start/demo-provider.mjs', import.meta.url))
}

export const commandLines = {
  'authorization-server': path.join(checkout, 'services/authorization-server/dist/operator/cli/main.js'),
  'resource-server': path.join(checkout, 'services/resource-server/dist/operator/cli/main.js')
}

/** The files of the demo user. */
export const demoFiles = path.join(checkout, 'examples/pictures')

/**
 * `.data`, or the folder in VALETKEY_DATA. With another folder, a second stack can run beside the first.
 * @param {NodeJS.ProcessEnv} environment
 */
export function dataFiles(environment) {
  const directory = path.resolve(environment.VALETKEY_DATA || path.join(checkout, '.data'))
  return {
    directory,
    secrets: path.join(directory, 'secrets.json'),
    run: path.join(directory, 'run.json'),
    postgres: path.join(directory, 'postgres'),
    redis: path.join(directory, 'redis'),
    logs: path.join(directory, 'logs'),
    /** @param {string} name */
    log: (name) => path.join(directory, 'logs', `${name}.log`)
  }
}

/**
 * It contains passwords and keys, so only its owner may read it.
 * @param {Pick<DataFiles, 'directory' | 'logs'>} data
 */
export function makeDataDirectory({ directory, logs }) {
  try {
    if (existsSync(directory)) chmodSync(directory, 0o700)
    mkdirSync(logs, { recursive: true, mode: 0o700 })
  } catch (error) {
    if (!['EPERM', 'EACCES'].includes(codeOf(error))) throw error
    throw new Error(
      `${directory} belongs to another user. Run this as that user, or move the folder away to start over.`
    )
  }
}

/**
 * The path relative to the current directory, if that is shorter.
 * @param {string} file
 */
export const displayPath = (file) => {
  const relative = path.relative(process.cwd(), file)
  return relative.startsWith('..') ? file : relative
}
