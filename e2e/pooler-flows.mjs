// PGBOUNCER=/path/to/pgbouncer npm run check:pooler: the flow tests of the authorization server, and the tests of poolers,
// through this PgBouncer (1.21 or newer) in transaction mode with max_prepared_statements 200. Other arguments go to Jest.
// Takes no input; ends with 1 if a test fails.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { checkout } from '../packages/dev-stack/lib/checkout.mjs'
import { randomSecret } from '../packages/dev-stack/lib/start/secrets.mjs'
import { startEmbeddedPostgres } from '../packages/dev-stack/lib/stores/embedded-postgres.mjs'
import { poolerVersion, startPooler } from './system/stores/pooler.mjs'
import { openWorkshop } from './system/workshop.mjs'

const { PGBOUNCER: command } = process.env
if (command === undefined || !poolerVersion(command).keepsStatements) {
  console.error('Set PGBOUNCER to the path of PgBouncer 1.21 or newer.')
  process.exit(2)
}
console.log(`PgBouncer ${poolerVersion(command).version}, transaction mode`)
const workshop = openWorkshop()
try {
  const { directory, processes } = workshop
  const postgres = await startEmbeddedPostgres({
    directory: path.join(directory, 'postgres'),
    logFile: path.join(directory, 'postgres.log'),
    processes,
    password: randomSecret(),
    durable: false
  })
  const databaseUrl = postgres.url('postgres')
  const { url } = await startPooler({ ...workshop, command, databaseUrl, mode: 'transaction' })
  const given = process.argv.slice(2)
  const args = given.length > 0 ? given : ['authorization-server/test/(features/.*/)?flows', 'e2e/pooler']
  const tests = spawn(process.execPath, ['packages/dev-stack/bin/test.mjs', ...args], {
    cwd: path.resolve(checkout),
    env: { ...process.env, TEST_POSTGRES_URL: databaseUrl, TEST_POOLER_URL: url },
    stdio: 'inherit'
  })
  const [code] = await once(tests, 'exit')
  process.exitCode = code ?? 1
} finally {
  await workshop.close()
}
