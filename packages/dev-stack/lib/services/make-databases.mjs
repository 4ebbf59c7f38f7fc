// Creates the two databases of a deployment, and their command lines.
import { commandLine } from '../start/command-lines.mjs'
import { randomSecret } from '../start/secrets.mjs'
import { databases, ensureDatabase } from '../stores/databases.mjs'

/** Creates a database and a role for each service. @returns their URLs, the authorization server's first */
export async function makeDatabases(postgresUrl) {
  const password = randomSecret()
  const urls = []
  // One after the other: both change privileges of the default databases.
  for (const { database, role } of Object.values(databases)) {
    await ensureDatabase(postgresUrl, { database, role }, password)
    urls.push(Object.assign(new URL(postgresUrl), { username: role, password, pathname: `/${database}` }).href)
  }
  return urls
}

/** Migrates both. @returns the two command lines */
export async function migrateDatabases(environment, [databaseUrl, filesDatabaseUrl], processes) {
  const authorization = { ...environment, DATABASE_URL: databaseUrl }
  const files = { ...environment, RESOURCE_DATABASE_URL: filesDatabaseUrl }
  const valetkey = commandLine({ service: 'authorization-server', environment: authorization, processes })
  const valetkeyFiles = commandLine({ service: 'resource-server', environment: files, processes })
  await Promise.all([valetkey(['migrate']), valetkeyFiles(['migrate'])])
  return { valetkey, valetkeyFiles }
}
