// The floor of GET /v1/files: two programs that do what cannot be left out and check nothing else, and their tables.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freePort } from '../../packages/dev-stack/lib/ports.mjs'
import { nodeProgram } from '../../packages/dev-stack/lib/programs.mjs'
import { FILES, SCOPE } from './books.mjs'
import { onServerCore } from './cores.mjs'
import { untilReady } from './until-ready.mjs'

const folder = fileURLToPath(new URL('../floor', import.meta.url))

export async function startFloor({ databaseUrl, tokens: count, directory, processes }) {
  const tokens = Array.from({ length: count }, () => randomBytes(32).toString('base64url'))
  await fill(databaseUrl, tokens)
  const [issuerPort, filesPort] = [await freePort(), await freePort()]
  const issuer = `http://127.0.0.1:${issuerPort}`
  const environment = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    CALLER_ID: 'floor',
    CALLER_SECRET: randomBytes(32).toString('base64url')
  }
  const authorizationServer = await start('authorization-server', issuerPort, {})
  const resourceServer = await start('resource-server', filesPort, { AUTHORIZATION_SERVER: issuer, SCOPE })
  return {
    filesUrl: `http://127.0.0.1:${filesPort}/v1/files`,
    tokens,
    pids: [authorizationServer.child.pid, resourceServer.child.pid]
  }

  async function start(program, port, variables) {
    const name = `floor-${program}`
    const process = processes.start({
      name,
      program: onServerCore(nodeProgram(path.join(folder, `${program}.mjs`))),
      environment: { ...environment, PORT: String(port), ...variables },
      logFile: path.join(directory, `${name}.log`)
    })
    await untilReady(`http://127.0.0.1:${port}/readyz`, process)
    return process
  }
}

/** The files of the one user are among those of a thousand, as many as fit the page. */
async function fill(databaseUrl, tokens) {
  const owner = randomUUID()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(readFileSync(path.join(folder, 'tables.sql'), 'utf8'))
    await client.query(
      `insert into floor_files (owner_id, created_at, name, size, content_type)
        select owner, timestamptz '2026-01-01' + number * interval '1 minute', 'report-' || number || '.pdf',
          1000 + number * 37, 'application/pdf'
        from (select $1::uuid union all select gen_random_uuid() from generate_series(1, 999)) as owners (owner),
          generate_series(1, $2::int) as number`,
      [owner, FILES]
    )
    await client.query(
      `insert into floor_tokens (token_hash, client_id, user_id, scope, issued_at, expires_at)
        select token_hash, 'bench', $1, $2, now(), now() + interval '1 hour' from unnest($3::bytea[]) as token_hash`,
      [owner, SCOPE, tokens.map((token) => createHash('sha256').update(token).digest())]
    )
    await client.query('analyze')
  } finally {
    await client.end()
  }
}
