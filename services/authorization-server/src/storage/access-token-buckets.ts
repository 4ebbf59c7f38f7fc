import { setTimeout as sleep } from 'node:timers/promises'
import { expiryBucket, type TokenDigest } from '@valetkey/oauth-protocol'
import { type Database, isUndefinedTable, StoreUnavailable } from '@valetkey/service-kit'

/** Made ahead beyond the bucket that tokens of now go into: hours in which nobody has to make one at once. */
const AHEAD = 3

/**
 * Tokens with buckets that do not exist cannot make this process ask for the list more often. No longer: those who share a
 * request with such a token wait as well.
 */
const RELOAD_EVERY_MS = 5

/** As `drop_access_token_buckets` in the migrations has it. */
const DROPPED_AT_ONCE = 50

const PARENT = 'access_tokens'

/** How an access token is found: by its hash, in the table of the bucket that it carries. */
export type AccessTokenKey = { digest: TokenDigest; bucket: number }

/**
 * The tables that hold access tokens, one for each hour in which they end. What comes from outside selects from the list of
 * those that exist and is never written into a statement.
 */
export function createAccessTokenBuckets(database: Database) {
  let tables: ReadonlyMap<number, string> = new Map()
  let sizes: ReadonlyMap<number, number> = new Map()
  let lastReload = Number.NEGATIVE_INFINITY
  let nextReload: Promise<void> | undefined

  async function load(): Promise<void> {
    // The sizes are what Postgres has counted anyway: nothing is read for them.
    const rows = await database.query<{ bucket: number; tokens: number }>({
      name: 'list_access_token_buckets',
      text: `select substring(c.relname from '[0-9]+$')::integer as bucket,
          greatest(c.reltuples, pg_stat_get_live_tuples(c.oid), 0)::double precision as tokens
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'access_tokens'::regclass and c.relname ~ '^access_tokens_[0-9]+$'`,
      values: []
    })
    tables = new Map(rows.map(({ bucket }) => [bucket, tableName(bucket)]))
    sizes = new Map(rows.map(({ bucket, tokens }) => [bucket, tokens]))
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
    const text = 'select make_access_token_buckets($1, $2)'
    await database.query({ name: 'make_access_token_buckets', text, values: [first, last] })
    const made = new Map(tables)
    for (let bucket = first; bucket <= last; bucket++) made.set(bucket, tableName(bucket))
    tables = made
  }

  async function tableToWrite(bucket: number): Promise<string> {
    try {
      if (!tables.has(bucket)) await make(bucket)
      return tableName(bucket)
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      // Not allowed, or held up. Every look reads the parent as well, and housekeeping says each minute what is wrong.
      return PARENT
    }
  }

  function forget(table: string): void {
    tables = new Map([...tables].filter(([, name]) => name !== table))
  }

  async function makeAhead(now: Date, lifetime: number): Promise<void> {
    const first = expiryBucket(new Date(now.getTime() + lifetime * 1000))
    const last = first + AHEAD
    for (let bucket = first; bucket <= last; bucket++) if (!tables.has(bucket)) return make(first, last)
  }

  async function dropSome(now: Date): Promise<number> {
    const text = 'select drop_access_token_buckets($1) as dropped'
    const rows = await database.query<{ dropped: number }>({ name: 'drop_access_token_buckets', text, values: [now] })
    return rows[0]?.dropped ?? 0
  }

  return {
    /** The bucket's table, as far as this process knows; `find` knows for certain. */
    tableOf: (bucket: number): string | undefined => tables.get(bucket),

    /** @returns undefined when there is no such table in Postgres */
    async find(bucket: number): Promise<string | undefined> {
      await reload()
      return tables.get(bucket)
    },

    /** Asks again without the table when it is gone: dropped a moment ago with all that had expired in it, or put back. */
    async orWithout<Result>(
      table: string | undefined,
      ask: (table: string | undefined) => Promise<Result>
    ): Promise<Result> {
      try {
        return await ask(table)
      } catch (error) {
        if (table === undefined || !isUndefinedTable(error)) throw error
        forget(table)
        return ask(undefined)
      }
    },

    /**
     * Writes into the bucket's table, which is made if it is not there: the clock has jumped, the lifetime was raised, or
     * the database was put back.
     */
    async writeInto<Result>(bucket: number, write: (table: string) => Promise<Result>): Promise<Result> {
      try {
        return await write(await tableToWrite(bucket))
      } catch (error) {
        if (!isUndefinedTable(error)) throw error
        forget(tableName(bucket))
        return write(await tableToWrite(bucket))
      }
    },

    /** About how many tokens there are that have not expired, as of the last time that housekeeping looked. */
    estimate(now: Date): number {
      let sum = 0
      for (const [bucket, tokens] of sizes) if (!isOver(bucket, now)) sum += tokens
      return sum
    },

    /** Makes the tables that the next hours need, and drops those in which all has expired. @param lifetime in seconds */
    async keep(now: Date, lifetime: number): Promise<void> {
      await reload()
      await makeAhead(now, lifetime)
      while ((await dropSome(now)) === DROPPED_AT_ONCE);
    }
  }
}

export type AccessTokenBuckets = ReturnType<typeof createAccessTokenBuckets>

/** Whether all tokens of a bucket have expired. */
export function isOver(bucket: number, now: Date): boolean {
  return bucket < expiryBucket(now)
}

/** Only ever of a number, and only here. */
function tableName(bucket: number): string {
  return `access_tokens_${bucket}`
}
