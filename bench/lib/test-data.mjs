// The data that both services need before they can be measured, created with their command lines.
import { closeSync, ftruncateSync, mkdirSync, openSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { migrateDatabases } from '../../packages/dev-stack/lib/services/prepare-databases.mjs'
import {
  registerClient,
  registerResourceServer,
  registerUser
} from '../../packages/dev-stack/lib/services/register.mjs'

export const FILES = 50
/** The scope of the file list. */
export const FILES_SCOPE = 'files.read'
/** The requested scope. A program that measures `bench:target` may require another name. */
export const SCOPE = process.env.BENCH_SCOPE || FILES_SCOPE
export const REDIRECT_URI = 'http://127.0.0.1:9/cb'

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
  const urls = [databaseUrl, resourceDatabaseUrl]
  const { valetkey, valetkeyFiles } = await migrateDatabases(urls, { PATH }, processes)
  const account = { username: 'bench', password: 'correct horse battery staple' }
  const id = await registerUser(valetkey, account)
  if (SCOPE !== FILES_SCOPE) await valetkey(['scopes', 'create', SCOPE, '--title', 'Bench'])
  const options = ['--consent', 'remember', ...(refreshes ? [] : ['--no-refresh'])]
  const client = await registerClient(valetkey, { name: 'Bench', redirectUri: REDIRECT_URI, scope: SCOPE, options })
  const resourceServer = await registerResourceServer(valetkey, resourceUrl, 'Bench files')
  await valetkeyFiles(['import', makeFiles(directory), '--owner', id, '--json'])
  return {
    user: { ...account, id },
    client: { id: client.clientId, secret: client.clientSecret },
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
