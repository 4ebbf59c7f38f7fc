// ./valetkey, ./valetkey-files: the command line of a service, with the databases of the running `npm start`.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { commandLines, dataFiles } from '../lib/checkout.mjs'
import { readRunFile } from '../lib/processes/run-file.mjs'
import { withOwnerId } from '../lib/start/owner-id.mjs'

const databaseVariables = {
  'authorization-server': 'DATABASE_URL',
  'resource-server': 'RESOURCE_DATABASE_URL'
}

const NO_DATABASE_COMMANDS = new Set([undefined, 'help', 'completion'])
const NO_DATABASE_OPTIONS = new Set(['--help', '-h', '--version', '-V'])

const [service, ...args] = process.argv.slice(2)
const file = commandLines[service]
const variable = databaseVariables[service]

if (file === undefined) stop('Usage: command-line.mjs authorization-server|resource-server …')
if (!existsSync(file)) stop('Not built yet: run npm start, or npm run build, first.')
if (!process.env[variable] && !process.env[`${variable}_FILE`] && !needsNoDatabase()) joinRunningStack()

// Run in this process, so that input, output, signals and exit code are those of the command.
const given = process.env.DATABASE_URL && service === 'resource-server' ? withOwnerId(args, findUserId) : args
process.argv.splice(1, process.argv.length - 1, file, ...given)
await import(pathToFileURL(file).href)

function joinRunningStack() {
  const running = readRunFile(dataFiles(process.env).run)
  if (running === undefined) stop(`Valetkey is not running in this checkout: run npm start, or set ${variable}.`)
  if (running.environment === undefined) stop('npm start is still starting the databases; try again in a moment.')
  for (const [name, value] of Object.entries(running.environment)) process.env[name] ||= value
}

/** If the user is not found, the command that looks for it prints why. */
function findUserId(name) {
  const show = [commandLines['authorization-server'], 'users', 'show', '--id', '--', name]
  const { status, stdout } = spawnSync(process.execPath, show, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit']
  })
  return status === 0 ? stdout.trim() : undefined
}

function needsNoDatabase() {
  return NO_DATABASE_COMMANDS.has(args[0]) || args.some((each) => NO_DATABASE_OPTIONS.has(each))
}

function stop(message) {
  console.error(message)
  process.exit(1)
}
