// npm run valetkey, npm run valetkey-files: the command line of a service, with the databases of the running `npm start`.
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { commandLines, dataFiles } from '../lib/checkout.mjs'
import { readRunFile } from '../lib/processes/run-file.mjs'

const databaseVariables = {
  'authorization-server': 'DATABASE_URL',
  'resource-server': 'RESOURCE_DATABASE_URL'
}

const [service, ...args] = process.argv.slice(2)
const file = commandLines[service]
const variable = databaseVariables[service]

if (file === undefined) stop('Usage: command-line.mjs authorization-server|resource-server …')
if (!existsSync(file)) stop('Not built yet: run npm start, or npm run build, first.')
if (!process.env[variable] && !process.env[`${variable}_FILE`] && !asksForHelp()) joinRunningStack()

// Run in this process, so that input, output, signals and exit code are those of the command.
process.argv.splice(1, process.argv.length - 1, file, ...args)
await import(pathToFileURL(file).href)

function joinRunningStack() {
  const running = readRunFile(dataFiles(process.env).run)
  if (running === undefined) stop(`Valetkey is not running in this checkout: run npm start, or set ${variable}.`)
  if (running.environment === undefined) stop('npm start is still starting the databases; try again in a moment.')
  for (const [name, value] of Object.entries(running.environment)) process.env[name] ||= value
}

/** Help needs no database. */
function asksForHelp() {
  return args.length === 0 || args.includes('--help') || args.includes('-h')
}

function stop(message) {
  console.error(message)
  process.exit(1)
}
