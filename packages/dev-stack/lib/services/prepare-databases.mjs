// The two databases of a deployment, and their command lines.
import { commandLine } from '../start/command-lines.mjs'
import { randomSecret } from '../start/secrets.mjs'
import { databases, ensureDatabase } from '../stores/databases.mjs'

/** @import { Processes } from '../processes/processes.mjs' */

/**
 * Creates a database and a role for each service, and migrates both.
 * @param {string} postgresUrl of a superuser
 * @param {NodeJS.ProcessEnv} environment of the commands
 * @param {Processes} processes
 * @returns the URLs, the authorization server's first, and the two command lines
 */
export async function prepareDatabases(postgresUrl, environment, processes) {
  // One after the other: both change privileges of the default databases.
  const databaseUrl = await make(postgresUrl, databases.authorization)
  const filesDatabaseUrl = await make(postgresUrl, databases.files)
  /** @type {[string, string]} */
  const databaseUrls = [databaseUrl, filesDatabaseUrl]
  return { databaseUrls, ...(await migrateDatabases(databaseUrls, environment, processes)) }
}

/**
 * @param {readonly [string, string]} databaseUrls the authorization server's first
 * @param {NodeJS.ProcessEnv} environment
 * @param {Processes} processes
 * @returns the two command lines
 */
export async function migrateDatabases([databaseUrl, filesDatabaseUrl], environment, processes) {
  const authorization = { ...environment, DATABASE_URL: databaseUrl }
  const files = { ...environment, RESOURCE_DATABASE_URL: filesDatabaseUrl }
  const valetkey = commandLine({ service: 'authorization-server', environment: authorization, processes })
  const valetkeyFiles = commandLine({ service: 'resource-server', environment: files, processes })
  await Promise.all([valetkey(['migrate']), valetkeyFiles(['migrate'])])
  return { valetkey, valetkeyFiles }
}

/**
 * @param {string} postgresUrl
 * @param {{ database: string, role: string }} names
 */
async function make(postgresUrl, { database, role }) {
  const password = randomSecret()
  await ensureDatabase(postgresUrl, { database, role }, password)
  return Object.assign(new URL(postgresUrl), { username: role, password, pathname: `/${database}` }).href
}
