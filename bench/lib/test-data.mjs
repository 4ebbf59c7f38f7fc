// The data that both services need before they can be measured, created with their command lines.
import { closeSync, ftruncateSync, mkdirSync, openSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { commandLine } from '../../packages/dev-stack/lib/start/command-lines.mjs'

export const FILES = 50
/** The scope of the file list. */
export const FILES_SCOPE = 'files.read'
/** The requested scope. A program that measures `bench:target` may require another name. */
export const SCOPE = process.env.BENCH_SCOPE || FILES_SCOPE
export const REDIRECT_URI = 'http://127.0.0.1:9/cb'

const USERNAME = 'bench'
const PASSWORD = 'correct horse battery staple'

/** @param refreshes whether the client gets refresh tokens */
export async function createTestData({
  databaseUrl,
  resourceDatabaseUrl,
  resourceUrl,
  directory,
  processes,
  refreshes
}) {
  const { PATH } = process.env
  const commands = (service, environment) => commandLine({ service, environment: { PATH, ...environment }, processes })
  const valetkey = commands('authorization-server', { DATABASE_URL: databaseUrl })
  const valetkeyFiles = commands('resource-server', { RESOURCE_DATABASE_URL: resourceDatabaseUrl })

  await Promise.all([valetkey(['migrate']), valetkeyFiles(['migrate'])])
  const user = await valetkey(['users', 'create', USERNAME, '--password-stdin', '--json'], { input: PASSWORD })
  if (SCOPE !== FILES_SCOPE) await valetkey(['scopes', 'create', SCOPE, '--title', 'Bench'])
  const client = await valetkey([
    ...['clients', 'create', '--name', 'Bench', '--redirect-uri', REDIRECT_URI, '--scope', SCOPE],
    ...['--consent', 'remember', ...(refreshes ? [] : ['--no-refresh']), '--json']
  ])
  const resourceServer = await valetkey([
    ...['resource-servers', 'create', '--name', 'Bench files', '--audience', resourceUrl, '--json']
  ])
  await valetkeyFiles(['import', makeFiles(directory), '--owner', user.user_id, '--json'])
  return {
    user: { username: USERNAME, password: PASSWORD, id: user.user_id },
    client: { id: client.client_id, secret: client.client_secret },
    resourceServer: { id: resourceServer.client_id, secret: resourceServer.client_secret }
  }
}

/** Sparse files, because the import reads names, sizes and times, but no contents. */
function makeFiles(directory) {
  const files = path.join(directory, 'files')
  mkdirSync(files)
  for (let number = 1; number <= FILES; number++) {
    const name = path.join(files, `report-${number}.pdf`)
    const file = openSync(name, 'w')
    ftruncateSync(file, 1_000 + number * 37)
    closeSync(file)
    const time = Date.UTC(2026, 0, 1, 0, number) / 1_000
    utimesSync(name, time, time)
  }
  return files
}
