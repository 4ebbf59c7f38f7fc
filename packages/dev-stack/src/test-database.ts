import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** `pooledUrl`: through the pooler of `npm run check:pooler`; otherwise the same as `url`. */
export type TestDatabase = { url: string; pooledUrl: string; drop(): Promise<void> }

/** A database that is filled once in a test run and then copied. `fill` must close its connections. */
export type Template = { name: string; fill(url: string): Promise<unknown> }

// An arbitrary number. Only one worker fills a template; the others wait for it.
const FILL_LOCK = 4_120_995_377

/**
 * Creates a database in the temporary cluster of a test run. Drop it in `afterAll`.
 * @param template without it, the database is empty
 */
export async function createTestDatabase(template?: Template): Promise<TestDatabase> {
  const { TEST_POSTGRES_URL: clusterUrl } = process.env
  if (!clusterUrl) {
    throw new Error('TEST_POSTGRES_URL is not set: run the tests with "npm test -- <paths>", which starts Postgres')
  }
  const name = `test_${randomBytes(8).toString('hex')}`
  await administer(clusterUrl, async (client) => {
    if (template === undefined) await createEmpty(client, name)
    else {
      await fillOnce(client, clusterUrl, template)
      await client.query(`CREATE DATABASE ${name} TEMPLATE template_${template.name}`)
    }
  })
  return {
    url: urlAt(clusterUrl, name),
    pooledUrl: urlAt(process.env.TEST_POOLER_URL ?? clusterUrl, name),
    // A connection that a failed test left open must not prevent this.
    drop: () => administer(clusterUrl, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  }
}

/** Databases are copies of template0, which accepts no connections, so that many workers can create databases concurrently. */
const createEmpty = (client: pg.Client, name: string) =>
  client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`)

/** The database gets its final name when it is filled. So a name that exists is a complete template. */
async function fillOnce(client: pg.Client, clusterUrl: string, { name, fill }: Template): Promise<void> {
  if (await exists(client, `template_${name}`)) return
  await client.query('SELECT pg_advisory_lock($1)', [FILL_LOCK])
  // The lock ends with the connection.
  if (await exists(client, `template_${name}`)) return
  const unfinished = `unfinished_${name}`
  await client.query(`DROP DATABASE IF EXISTS ${unfinished}`)
  await createEmpty(client, unfinished)
  await fill(urlAt(clusterUrl, unfinished))
  await client.query(`ALTER DATABASE ${unfinished} RENAME TO template_${name}`)
}

async function exists(client: pg.Client, name: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name])
  return rowCount === 1
}

const urlAt = (server: string, database: string): string =>
  Object.assign(new URL(server), { pathname: `/${database}` }).href

async function administer(clusterUrl: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: clusterUrl })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
