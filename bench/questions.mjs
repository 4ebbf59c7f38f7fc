// npm run bench:questions: how long the commands take that operators need while something is wrong, beside ten million live tokens
// and ten million audit events. Each command runs as a process of its own, as an operator runs it, RUNS times. Prints the
// longest times; exits with 1 if one is over a second. Needs 12 GB of disk and about ten minutes. BENCH_TOKENS replaces both numbers.
// Linux only.
import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { commandLine } from '../packages/dev-stack/lib/start/command-lines.mjs'
import { table } from './lib/figures.mjs'
import { fillTokens } from './lib/fill-tokens.mjs'
import { describeRun } from './lib/machine.mjs'
import { createStores } from './lib/stores.mjs'
import { inWorkplace } from './lib/workplace.mjs'

const TOKENS = Number(process.env.BENCH_TOKENS ?? 10_000_000)
const RUNS = 5
const GOAL_MS = 1_000
/** Grants for an API with few users. */
const FEW = 500
const DEFAULT_API = 'https://files.example'
const REQUEST = randomUUID()

await inWorkplace(async ({ directory, processes, afterwards }) => {
  const stores = await createStores(['questions'], { directory, processes, environment: process.env })
  afterwards(stores.drop)
  const [databaseUrl] = stores.databaseUrls
  const environment = { PATH: process.env.PATH, DATABASE_URL: databaseUrl }
  const valetkey = commandLine({ service: 'authorization-server', environment, processes })
  await valetkey(['migrate'])
  const records = await createRecords(valetkey)
  await fill(databaseUrl, records)
  console.log('the tables are filled')

  const rows = []
  for (const { question, args, columns = args } of questionsAbout(records)) {
    const milliseconds = []
    for (let run = 0; run < RUNS; run++) milliseconds.push(await timeOf(() => valetkey([...args, '--json'])))
    const longest = Math.round(Math.max(...milliseconds))
    console.log(`${longest} ms  valetkey ${args.join(' ')}`)
    rows.push({ question, command: `valetkey ${columns.join(' ')}`, longest })
  }
  const isMet = rows.every(({ longest }) => longest <= GOAL_MS)
  console.log(await report(stores, rows))
  console.log(isMet ? 'each within a second' : 'over a second')
  return isMet ? 0 : 1
})

async function createRecords(valetkey) {
  const audience = 'https://reports.example'
  await valetkey(['resource-servers', 'create', '--name', 'files', '--audience', DEFAULT_API, '--json'])
  await valetkey(['resource-servers', 'create', '--name', 'reports', '--audience', audience, '--json'])
  await valetkey(['scopes', 'create', 'reports.read', '--title', 'Reports', '--resource', 'reports', '--json'])
  const client = (name, scope) =>
    valetkey([
      'clients',
      'create',
      '--name',
      name,
      '--redirect-uri',
      'https://app.example/',
      '--scope',
      scope,
      '--json'
    ])
  const large = await client('Large', 'files.read')
  const small = await client('Small', 'reports.read')
  for (let number = 0; number < 20; number++) await client(`App ${number}`, 'files.read')
  const user = await valetkey(['users', 'create', 'alice', '--password-stdin', '--json'], {
    input: 'a password of words'
  })
  return { audience, large: large.client_id, small: small.client_id, userId: user.user_id }
}

async function fill(databaseUrl, { audience, large, small, userId }) {
  await fillTokens(databaseUrl, { count: TOKENS, clientId: large, busyUserId: userId, audience: DEFAULT_API })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(
    `insert into grants (grant_id, client_id, user_id, scope, audience, redirect_uri, code_hash, user_generation,
        client_generation, newest_scope, created_at, redeemed_at, last_used_at, expires_at)
      select gen_random_uuid(), c.client_id, md5('user' || number)::uuid, '{reports.read}', $2, 'https://app.example/',
        sha256(gen_random_uuid()::text::bytea), 0, c.generation, (select max(number) from scopes), now(), now(), now(),
        now() + interval '1 day'
      from clients c cross join generate_series(1, $3::int) number where c.client_id = $1`,
    [small, audience, FEW]
  )
  // As many events as in thirty days, one in a thousand a change, and one request that failed.
  await client.query(
    `insert into audit_events (occurred_at, event, request_id, client_id, user_id, address, details)
      select now() - number * (interval '30 days' / $1::int), case when number % 1000 = 0 then 'client_updated' else 'token_refreshed' end,
        gen_random_uuid()::text, $2, md5('user' || number % ($1::int / 10))::uuid, '192.0.2.1',
        case when number % 1000 = 0 then '{"actor":{"kind":"command_line","name":"olivia"},"changes":{}}' else '{"scope":["files.read"]}' end::jsonb
      from generate_series(1, $1::int) number`,
    [TOKENS, large]
  )
  await client.query(
    `insert into audit_events (occurred_at, event, request_id, client_id, details)
      values (now() - interval '20 days', 'request_refused', $1, $2, '{"reason":"wrong_secret"}')`,
    [REQUEST, large]
  )
  await client.query('vacuum (analyze)')
  await client.end()
}

function questionsAbout({ large, small }) {
  return [
    { question: 'What can apps do for a user?', args: ['grants', 'list', '--user', 'alice', '--limit', '100'] },
    {
      question: 'Who lets an app in?',
      args: ['grants', 'list', '--client', large, '--limit', '100'],
      columns: ['grants', 'list', '--client', 'CLIENT_ID']
    },
    {
      question: '… an app with few users?',
      args: ['grants', 'list', '--client', small],
      columns: ['grants', 'list', '--client', 'CLIENT_ID']
    },
    { question: 'Who lets apps use an API?', args: ['grants', 'list', '--resource', 'files', '--limit', '100'] },
    { question: '… an API with few users?', args: ['grants', 'list', '--resource', 'reports'] },
    { question: 'What changed today?', args: ['audit', 'tail', '--changes', '--since', '1d'] },
    {
      question: 'What changed about a record?',
      args: ['audit', 'tail', '--subject', 'reports.read', '--since', '30d']
    },
    {
      question: 'Why did a request fail?',
      args: ['requests', 'show', REQUEST],
      columns: ['requests', 'show', 'REQUEST_ID']
    },
    { question: 'Which secrets are in use?', args: ['clients', 'secrets'] },
    { question: 'Who would lose a scope?', args: ['scopes', 'delete', 'files.read', '--dry-run'] },
    { question: '… one with few users?', args: ['scopes', 'delete', 'reports.read', '--dry-run'] }
  ]
}

async function timeOf(run) {
  const begunAt = performance.now()
  await run()
  return performance.now() - begunAt
}

async function report(stores, rows) {
  const cells = rows.map(({ question, command, longest }) => [question, `\`${command}\``, String(longest)])
  return [
    table(['question', 'command', 'ms'], cells),
    `\n${await describeRun(stores)}. The longest of ${RUNS} runs, with the start of the process, beside ${TOKENS.toLocaleString('en')} live tokens and as many audit events (\`npm run bench:questions\`).`
  ].join('\n')
}
