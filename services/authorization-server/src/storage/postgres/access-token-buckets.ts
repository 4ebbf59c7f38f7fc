import { setTimeout as sleep } from 'node:timers/promises'
import { expiryBucket, type TokenDigest } from '@valetkey/oauth-protocol'
import { type Database, isUndefinedTable, LONG_STATEMENT_MS, StoreUnavailable } from '@valetkey/service-kit'

/** Made ahead beyond the bucket that tokens of now go into: hours in which nobody has to make one at once. */
const AHEAD = 3

/**
 * Tokens with buckets that do not exist cannot make this process ask for the list more often. No longer: those who share a
 * request with such a token wait as well.
 */
const RELOAD_EVERY_MS = 5

/** Hours that may have a table: no lifetime is longer, and none of an hour that is over is needed. */
const MOST_AHEAD = 31 * 24

/** As `drop_access_token_buckets` in the migrations has it. */
const DROPPED_AT_ONCE = 50

/** How an access token is found: by its hash, in the table of the bucket that it carries. */
export type AccessTokenKey = { digest: TokenDigest; bucket: number }

/**
 * The tables that hold access tokens, one for each hour in which they end. What comes from outside selects from the list of
 * those that exist and is never written into a statement.
 */
export function createAccessTokenBuckets(database: Database) {
  let tables: ReadonlyMap<number, string> = new Map()
  let sizes: ReadonlyMap<number, number> = new Map()
  /** What Postgres's clock said when the list was read last: the present, or some time before it. */
  let listedAt = new Date(0)
  let lastReload = Number.NEGATIVE_INFINITY
  let nextReload: Promise<void> | undefined

  async function load(): Promise<void> {
    // The sizes are what Postgres has counted anyway: nothing is read for them.
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
    if (row === undefined) return
    tables = new Map(row.buckets.map((bucket) => [bucket, tableName(bucket)]))
    sizes = new Map(row.buckets.map((bucket, index) => [bucket, row.tokens[index] ?? 0]))
    listedAt = row.listed_at
  }

  /** Reads the list from Postgres. Whoever asks gets one that was read after the question; those who wait share it. */
  function reload(): Promise<void> {
    nextReload ??= reloadInTurn()
    return nextReload
  }

  async function reloadInTurn(): Promise<void> {
    await sleep(Math.max(0, lastReload + RELOAD_EVERY_MS - performance.now()))
    nextReload = undefined
    lastReload = performance.now()
    await load()
  }

  async function make(first: number, last = first): Promise<void> {
    // Only of hours that tokens of the present can end in, whatever this process takes the time for.
    const text = `select make_access_token_buckets($1, $2) from (select extract(epoch from now()) / 3600 as hour) as present
      where $1 >= floor(hour) - 1 and $2 <= hour + ${MOST_AHEAD}`
    const statement = { name: 'make_access_token_buckets', text, values: [first, last] }
    // A table that cannot be made is an outage, whatever Postgres refuses it for: a request that needs it is answered with 503.
    const rows = await database.query(statement).catch((error: unknown) => {
      throw error instanceof StoreUnavailable ? error : new StoreUnavailable('postgres', error)
    })
    if (rows.length === 0)
      throw new StoreUnavailable('postgres', new Error('no token of the present ends in that hour'))
    const made = new Map(tables)
    for (let bucket = first; bucket <= last; bucket++) made.set(bucket, tableName(bucket))
    tables = made
  }

  async function tableToWrite(bucket: number): Promise<string> {
    if (!tables.has(bucket)) await make(bucket)
    return tableName(bucket)
  }

  async function makeAhead(lifetime: number): Promise<void> {
    const first = expiryBucket(new Date(listedAt.getTime() + lifetime * 1000))
    const last = first + AHEAD
    for (let bucket = first; bucket <= last; bucket++) if (!tables.has(bucket)) return make(first, last)
  }

  async function dropSome(): Promise<number> {
    const text = 'select drop_access_token_buckets(now()) as dropped'
    const statement = { name: 'drop_access_token_buckets', text, values: [], withinMs: LONG_STATEMENT_MS }
    const rows = await database.query<{ dropped: number }>(statement)
    return rows[0]?.dropped ?? 0
  }

  /** Whether all tokens of a bucket have expired, by Postgres's clock. It may be told late, and never early. */
  const isOver = (bucket: number): boolean => bucket < expiryBucket(listedAt)

  return {
    /**
     * The table that holds the tokens of a bucket.
     * @returns undefined without a statement when all of them have expired, and when Postgres has no such table
     */
    async find(bucket: number): Promise<string | undefined> {
      if (isOver(bucket)) return undefined
      if (!tables.has(bucket)) await reload()
      return tables.get(bucket)
    },

    /** Reads or changes rows of a table that `find` gave. None when it has been dropped since, or the database was restored. */
    async rowsOf<Row>(table: string, ask: (table: string) => Promise<Row[]>): Promise<Row[]> {
      try {
        return await ask(table)
      } catch (error) {
        if (!isUndefinedTable(error)) throw error
        await reload()
        // The table is there, so it is another one that is missing.
        if ([...tables.values()].includes(table)) throw error
        return []
      }
    },

    /**
     * Writes into the bucket's table. It is made if it does not exist: the lifetime was raised, or the database was restored.
     * @throws {StoreUnavailable} also when the table cannot be made
     */
    async writeInto<Result>(bucket: number, write: (table: string) => Promise<Result>): Promise<Result> {
      try {
        return await write(await tableToWrite(bucket))
      } catch (error) {
        if (!isUndefinedTable(error)) throw error
        await reload()
        return write(await tableToWrite(bucket))
      }
    },

    /** About how many tokens there are that have not expired, as of the last time that housekeeping looked. */
    estimate(): number {
      let sum = 0
      for (const [bucket, tokens] of sizes) if (!isOver(bucket)) sum += tokens
      return sum
    },

    /** Makes the tables that the next hours need, and drops those in which all has expired. @param lifetime in seconds */
    async keep(lifetime: number): Promise<void> {
      await reload()
      await makeAhead(lifetime)
      while ((await dropSome()) === DROPPED_AT_ONCE);
    }
  }
}

export type AccessTokenBuckets = ReturnType<typeof createAccessTokenBuckets>

/** Only ever of a number, and only here. */
function tableName(bucket: number): string {
  return `access_tokens_${bucket}`
}
