// Inserts a long file list for bench/paging.mjs directly into the resource server's database.
import pg from 'pg'

/** Replaces the files of a user by files whose times are unrelated to the order of their rows. */
export async function storeManyFiles(databaseUrl, ownerId, count) {
  await administer(databaseUrl, async (client) => {
    await client.query('delete from files where owner_id = $1', [ownerId])
    await client.query(
      `insert into files
         (file_id, owner_id, source_path, source_hash, name, mime_type, kind, size, created_at, modified_at)
       select gen_random_uuid(), $1, '/pictures/' || i || '.jpg', sha256(i::text::bytea), 'Picture ' || i || '.jpg',
              'image/jpeg', 'images', i * 997, timestamptz '2020-01-01Z' + (i * 7919 % 1000003) * interval '7 s',
              timestamptz '2026-01-01Z'
       from generate_series(1, $2::bigint) i`,
      [ownerId, count]
    )
    // As autovacuum does: it marks pages whose rows are visible to all transactions, so that reads can skip them.
    await client.query('vacuum analyze files')
  })
}

/** The processes of Postgres that serve a database. */
export async function backendsOf(databaseUrl) {
  return administer(databaseUrl, async (client) => {
    const { rows } = await client.query(
      `select pid from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`
    )
    return rows.map(({ pid }) => pid)
  })
}

async function administer(url, work) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // Vacuum cannot mark pages as visible to all before the commit is on disk.
    await client.query('set synchronous_commit = on')
    return await work(client)
  } finally {
    await client.end()
  }
}
