import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** `pooledUrl`: through the pooler of `npm run check:pooler`; otherwise the same as `url`. */
export type TestDatabase = { url: string; pooledUrl: string; drop(): Promise<void> }

/** Creates an empty database in the temporary cluster of a test run. Drop it in `afterAll`. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { TEST_POSTGRES_URL: clusterUrl } = process.env
  if (!clusterUrl) {
    throw new Error('TEST_POSTGRES_URL is not set: run the tests with "npm test -- <paths>", which starts Postgres')
  }
  const name = `test_${randomBytes(8).toString('hex')}`
  // From template0, which accepts no connections, so that many workers can create databases concurrently.
  await administer(clusterUrl, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`)
  const urlAt = (server: string) => Object.assign(new URL(server), { pathname: `/${name}` }).href
  return {
    url: urlAt(clusterUrl),
    pooledUrl: urlAt(process.env.TEST_POOLER_URL ?? clusterUrl),
    // A connection that a failed test left open must not prevent this.
    drop: () => administer(clusterUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  }
}

async function administer(clusterUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: clusterUrl })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
