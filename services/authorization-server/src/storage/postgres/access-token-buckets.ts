import { setTimeout as sleep } from 'node:timers/promises'
import { expiryBucket, type TokenHash } from '@valetkey/oauth-protocol'
import { type Database, isUndefinedTable, LONG_STATEMENT_MS, StoreUnavailable } from '@valetkey/service-kit'

/** Tables are created ahead for tokens that are issued in the next hours. Then no request has to wait for its table. */
const HOURS_AHEAD = 3

/**
 * Minimum time between two reads of the list, so that tokens with invented buckets cannot cause many reads. Short, because the
 * other tokens of the same introspection request wait as well.
 */
const RELOAD_EVERY_MS = 5

/** Tables may exist at most for so many hours in the future: no lifetime is longer than 30 days, and no table covers more than 8. */
const MOST_AHEAD = 38 * 24

/** The number of `drop_access_token_buckets` (migrations). */
const DROPPED_AT_ONCE = 50

/** Identifies an access token: its hash, and the bucket that the token contains, which names its table. */
export type AccessTokenKey = { hash: TokenHash; bucket: number }

/**
 * The tables of access tokens, by the hours in which the tokens expire (ADR 0017). A bucket from a request is only looked up in the
 * list of existing tables and never becomes part of a statement.
 */
export function createAccessTokenBuckets(database: Database) {
  const list = createBucketList(database)

  async function tableToWrite(bucket: number): Promise<string> {
    if (!list.has(bucket)) await list.create(bucket)
    return tableName(bucket)
  }

  return {
    /**
     * The table with the tokens of a bucket.
     * @returns undefined if Postgres has no such table, and, without a statement, if all of its tokens have expired
     */
    async find(bucket: number): Promise<string | undefined> {
      if (list.hasExpired(bucket)) return undefined
      if (!list.has(bucket)) await list.reload()
      return list.has(bucket) ? tableName(bucket) : undefined
    },

    /** Runs a statement on a table from `find`. @returns no rows if the table was dropped since, or the database was restored */
    async rowsOf<Row>(table: string, run: (table: string) => Promise<Row[]>): Promise<Row[]> {
      try {
        return await run(table)
      } catch (error) {
        if (!isUndefinedTable(error)) throw error
        await list.reload()
        // The table exists, so a different one is missing.
        if (list.hasTable(table)) throw error
        return []
      }
    },

    /**
     * Writes into the bucket's table. Creates the table if it does not exist, because the lifetime was raised or the database
     * was restored.
     * @throws {StoreUnavailable} also when the table cannot be created
     */
    async writeInto<Result>(bucket: number, write: (table: string) => Promise<Result>): Promise<Result> {
      try {
        return await write(await tableToWrite(bucket))
      } catch (error) {
        if (!isUndefinedTable(error)) throw error
        await list.reload()
        return write(await tableToWrite(bucket))
      }
    },

    /** Approximate number of access tokens that have not expired, when housekeeping last ran. */
    estimate: list.estimate,

    /** Creates the tables for the next hours, and drops those whose tokens have all expired. @param lifetime the longest, in seconds */
    async keep(lifetime: number): Promise<void> {
      await list.reload()
      await list.createAhead(lifetime)
      while ((await dropSome(database)) === DROPPED_AT_ONCE);
    }
  }
}

export type AccessTokenBuckets = ReturnType<typeof createAccessTokenBuckets>

/** The buckets that have a table, as of the last read. */
function createBucketList(database: Database) {
  /** Approximate number of tokens by bucket. */
  let tokens: ReadonlyMap<number, number> = new Map()
  /** The time of Postgres at the last read. */
  let listedAt = new Date(0)
  let lastReload = Number.NEGATIVE_INFINITY
  let nextReload: Promise<void> | undefined

  async function reloadInTurn(): Promise<void> {
    await sleep(Math.max(0, lastReload + RELOAD_EVERY_MS - performance.now()))
    nextReload = undefined
    lastReload = performance.now()
    const read = await readBuckets(database)
    if (read !== undefined) ({ listedAt, tokens } = read)
  }

  async function create(bucket: number): Promise<void> {
    await createTable(database, bucket)
    tokens = new Map(tokens).set(bucket, tokens.get(bucket) ?? 0)
  }

  /** Decides by Postgres's clock; `listedAt` is never later than the present, so this may become true late but never early. */
  const hasExpired = (bucket: number): boolean => bucket < expiryBucket(listedAt)

  return {
    has: (bucket: number): boolean => tokens.has(bucket),
    hasTable: (table: string): boolean => [...tokens.keys()].some((bucket) => tableName(bucket) === table),
    hasExpired,
    create,

    /** Reads the list from Postgres; concurrent callers share a read that begins after their call. */
    reload(): Promise<void> {
      nextReload ??= reloadInTurn()
      return nextReload
    },

    async createAhead(lifetime: number): Promise<void> {
      for (let hours = 0; hours <= HOURS_AHEAD; hours++) {
        const expiresAt = new Date(listedAt.getTime() + (lifetime + hours * 3_600) * 1_000)
        const bucket = expiryBucket(expiresAt, lifetime)
        if (!tokens.has(bucket)) await create(bucket)
      }
    },

    estimate(): number {
      let sum = 0
      for (const [bucket, count] of tokens) if (!hasExpired(bucket)) sum += count
      return sum
    }
  }
}

/** Reads the buckets and the sizes that Postgres has counted already; it reads no rows of the tables. */
async function readBuckets(
  database: Database
): Promise<{ listedAt: Date; tokens: ReadonlyMap<number, number> } | undefined> {
  const [row] = await database.query<{ listed_at: Date; buckets: number[]; tokens: number[] }>({
    name: 'list_access_token_buckets',
    text: `select now() as listed_at, coalesce(array_agg(bucket), '{}') as buckets,
        coalesce(array_agg(tokens), '{}') as tokens
      from (
        select substring(c.relname from '[0-9]+$')::integer as bucket,
          greatest(c.reltuples, pg_stat_get_live_tuples(c.oid), 0)::double precision as tokens
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'access_tokens'::regclass and c.relname ~ '^access_tokens_[0-9]+$'
      ) as listed`,
    values: []
  })
  if (row === undefined) return undefined
  return { listedAt: row.listed_at, tokens: new Map(row.buckets.map((bucket, at) => [bucket, row.tokens[at] ?? 0])) }
}

/** @throws {StoreUnavailable} for every reason: a request that needs the table gets 503 */
async function createTable(database: Database, bucket: number): Promise<void> {
  // Makes buckets only for hours in which tokens issued now can expire, even if the clock of this process is wrong.
  const text = `select make_access_token_buckets($1, $1) from (select extract(epoch from now()) / 3600 as hour) as present
    where $1 >= floor(hour) - 1 and $1 <= hour + ${MOST_AHEAD}`
  const statement = { name: 'make_access_token_buckets', text, values: [bucket] }
  const rows = await database.query(statement).catch((error: unknown) => {
    throw error instanceof StoreUnavailable ? error : new StoreUnavailable('postgres', error)
  })
  if (rows.length === 0) throw new StoreUnavailable('postgres', new Error('no token issued now expires in that hour'))
}

async function dropSome(database: Database): Promise<number> {
  const text = 'select drop_access_token_buckets(now()) as dropped'
  const statement = { name: 'drop_access_token_buckets', text, values: [], withinMs: LONG_STATEMENT_MS }
  const rows = await database.query<{ dropped: number }>(statement)
  return rows[0]?.dropped ?? 0
}

function tableName(bucket: number): string {
  return `access_tokens_${bucket}`
}
