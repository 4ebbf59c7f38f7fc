import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { connectPostgres, type Database, StoreUnavailable } from '../packages/service-kit/src/index.js'
import { makeCertificates } from './system/stores/certificates.mjs'
import { startPostgresWithTls } from './system/stores/postgres-servers.mjs'
import { openWorkshop, type Workshop } from './system/workshop.mjs'

let workshop: Workshop
const databases: Database[] = []
beforeAll(() => {
  workshop = openWorkshop()
})
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()))
  await workshop.close()
})

function connect(url: string): Database {
  const database = connectPostgres(url, { connections: 3, plans: 'kept by index' })
  databases.push(database)
  return database
}

const ask = async (database: Database, text: string) => (await database.query({ name: '', text, values: [] }))[0]

test('sslmode=verify-full with sslrootcert connects to a server of that authority, and to no other', async () => {
  const { url, ca } = await startPostgresWithTls(workshop)
  const asking = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'
  const other = makeCertificates(path.join(workshop.directory, 'other-authority'), {
    commonName: 'Another authority'
  }).ca
  expect(await ask(connect(`${url}?sslmode=verify-full&sslrootcert=${ca}`), asking)).toEqual({ ssl: true })
  expect(await ask(connect(`${url}?sslmode=require&sslrootcert=${ca}`), asking)).toEqual({ ssl: true })
  for (const [mode, authority] of [
    ['verify-full', other],
    ['require', other]
  ]) {
    const database = connect(`${url}?sslmode=${mode}&sslrootcert=${authority}`)
    await expect(ask(database, asking)).rejects.toThrow(StoreUnavailable)
  }
})
