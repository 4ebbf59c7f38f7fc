// The options after `npm start --`.
import { statSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../error-code.mjs'

/** Invalid arguments: npm start exits with 2. */
export class UsageError extends Error {}

export const startHelp = `Usage: npm start [-- --files DIR] [--no-demo-provider]

Starts everything on this machine: Postgres, Redis, both services, a demo client and a demo OpenID provider.

  --files DIR   import the files of this directory for the demo user (default: examples/pictures)
  --no-demo-provider   start no demo OpenID provider; setting SIGN_IN_PROVIDERS does the same
  --help        show this text

Settings are environment variables, for example:
  AUTH_PUBLIC_LISTEN=localhost:5000 npm start      (also AUTH_INTERNAL_LISTEN, AUTH_OPERATOR_LISTEN,
                                                    FILES_PUBLIC_LISTEN, FILES_OPERATOR_LISTEN, DEMO_LISTEN,
                                                    DEMO_PROVIDER_LISTEN)
  DATABASE_URL=… RESOURCE_DATABASE_URL=… REDIS_URL=… npm start      use your own servers
  VALETKEY_DATA=DIR npm start                                       use another folder than .data`

/**
 * @param {string} home base of a relative directory: the caller's current directory, not the one that npm changed to
 * @param {readonly string[]} args
 */
export function parseStartOptions(args, home) {
  const { values } = parse(args)
  const demoProvider = values['no-demo-provider'] !== true
  if (values.files === undefined) return { help: values.help === true, files: undefined, demoProvider }
  const files = path.resolve(home, values.files)
  if (values.help !== true && !isDirectory(files)) throw new UsageError(`--files: ${files} is not a directory`)
  return { help: values.help === true, files, demoProvider }
}

/** @param {readonly string[]} args */
function parse(args) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        files: { type: 'string' },
        'no-demo-provider': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' }
      }
    })
  } catch (error) {
    const [firstSentence] = messageOf(error).split(/[.\n]/)
    throw new UsageError(`${firstSentence}. See: npm start -- --help`)
  }
}

/** @param {string} file */
function isDirectory(file) {
  try {
    return statSync(file).isDirectory()
  } catch {
    return false
  }
}
