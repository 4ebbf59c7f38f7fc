// The two databases of a deployment, and the command lines that keep their books.
import { commandLine } from '../../packages/dev-stack/lib/start/command-lines.mjs'
import { randomSecret } from '../../packages/dev-stack/lib/start/secrets.mjs'
import { databases, ensureDatabase } from '../../packages/dev-stack/lib/stores/databases.mjs'

/** One for each service, with a role of its own: the authorization server's first. */
export async function makeDatabases(postgresUrl) {
  const password = randomSecret()
  const urls = []
  // One after the other: both change the rights on the databases that every cluster has.
  for (const { database, role } of Object.values(databases)) {
    await ensureDatabase(postgresUrl, { database, role }, password)
    urls.push(Object.assign(new URL(postgresUrl), { username: role, password, pathname: `/${database}` }).href)
  }
  return urls
}

/** Migrates both. @returns the two command lines */
export async function prepareBooks(environment, [databaseUrl, filesDatabaseUrl], processes) {
  const books = { ...environment, DATABASE_URL: databaseUrl }
  const files = { ...environment, RESOURCE_DATABASE_URL: filesDatabaseUrl }
  const valetkey = commandLine({ service: 'authorization-server', environment: books, processes })
  const valetkeyFiles = commandLine({ service: 'resource-server', environment: files, processes })
  await Promise.all([valetkey(['migrate']), valetkeyFiles(['migrate'])])
  return { valetkey, valetkeyFiles }
}
