import { type ConnectedDatabase, defineStatement } from '@valetkey/service-kit'

export type ImportRuns = ReturnType<typeof createImportRuns>

/** A stored path. `rootId` is undefined for the absolute paths of earlier releases. */
export type StoredPath = { rootId: string | undefined; path: string }

export type Below = {
  ownerId: string
  /** The directory, and roots below it: every stored path that begins with one of these. */
  within: readonly StoredPath[]
  /** Paths that could not be read: they and everything below them count as seen. */
  unread: readonly StoredPath[]
}

/** Identifies a connection; unique even across a restart of Postgres. */
const SESSION = `(select pid || ' ' || backend_start from pg_stat_activity where pid = pg_backend_pid())`
const LOCK = `hashtextextended('valetkey-files ' || $1, 0)`
const DELETED_AT_ONCE = 1_000
/** The pool closes an idle connection, which releases its locks. */
const KEEP_ALIVE_MS = 4_000

/** An unread path is empty if it is a root. */
const UNSEEN = `f.owner_id = :ownerId
  and exists (select 1 from unnest(:rootIds::uuid[], :paths::text[]) as within (root_id, path)
    where f.root_id is not distinct from within.root_id and starts_with(f.source_path, within.path))
  and not exists (select 1 from import_sightings s where s.owner_id = :ownerId and s.source_hash = f.source_hash)
  and not exists (select 1 from unnest(:unreadRootIds::uuid[], :unreadPaths::text[]) as unread (root_id, path)
    where f.root_id is not distinct from unread.root_id
      and (unread.path in (f.source_path, '') or starts_with(f.source_path, rtrim(unread.path, '/') || '/')))`

const countUnseen = defineStatement('count_unseen_files', `select count(*) from files f where ${UNSEEN}`)

const deleteUnseen = defineStatement(
  'delete_unseen_files',
  `delete from files where file_id = any (array(
    select file_id from files f where ${UNSEEN} and ${SESSION} = :session limit ${DELETED_AT_ONCE})) returning file_id`
)

type Session = Pick<ConnectedDatabase, 'query' | 'refuseSharing'>

/** `database` must have one connection only: the locks belong to it. */
export function createImportRuns(database: Session) {
  const lock = createImportLock(database)

  return {
    ...lock,

    async forgetSightings(ownerId: string): Promise<void> {
      await database.query({
        name: 'forget_sightings',
        text: 'delete from import_sightings where owner_id = $1',
        values: [ownerId]
      })
    },

    async noteSightings(ownerId: string, hashes: readonly Buffer[]): Promise<void> {
      await database.query({
        name: 'note_sightings',
        text: `insert into import_sightings (owner_id, source_hash) select $1, hash from unnest($2::bytea[]) as hash
          on conflict do nothing`,
        values: [ownerId, hashes]
      })
    },

    /** The number of files below a directory that were not seen. */
    async countUnseen(below: Below): Promise<number> {
      const [row] = await database.query<{ count: string }>(countUnseen(valuesOf(below)))
      return Number(row?.count ?? 0)
    },

    /** Deletes one batch, and nothing if the session no longer has the lock. */
    async deleteUnseen(below: Below): Promise<{ deleted: number; isMore: boolean }> {
      const rows = await database.query(deleteUnseen({ ...valuesOf(below), session: lock.session() }))
      return { deleted: rows.length, isMore: rows.length === DELETED_AT_ONCE }
    },

    async countAll(ownerId: string): Promise<number> {
      const [row] = await database.query<{ count: string }>({
        name: 'count_files',
        text: 'select count(*) from files where owner_id = $1',
        values: [ownerId]
      })
      return Number(row?.count ?? 0)
    },

    async deleteSome(ownerId: string): Promise<{ deleted: number; isMore: boolean }> {
      const rows = await database.query({
        name: 'delete_files',
        text: `delete from files where file_id = any (array(
            select file_id from files where owner_id = $1 limit ${DELETED_AT_ONCE})) returning file_id`,
        values: [ownerId]
      })
      return { deleted: rows.length, isMore: rows.length === DELETED_AT_ONCE }
    }
  }
}

/** The advisory lock of one user's files. */
function createImportLock(database: Session) {
  let lockedBy: string | undefined

  async function tryLock(name: string, verb: string, ownerId: string): Promise<boolean> {
    // A pooler in transaction mode would give the session, with its lock, to other processes. Known after a statement.
    await findSession()
    await database.refuseSharing()
    const [row] = await database.query<{ locked: boolean; session: string }>({
      name,
      text: `select ${verb}(${LOCK}) as locked, ${SESSION} as session`,
      values: [ownerId]
    })
    lockedBy = row?.session
    return row?.locked ?? false
  }

  async function findSession(): Promise<string | undefined> {
    const [row] = await database.query<{ session: string }>({
      name: 'find_import_session',
      text: `select ${SESSION} as session`,
      values: []
    })
    return row?.session
  }

  return {
    /** Imports without --prune may run concurrently. @returns false while another command removes files of this user */
    share: (ownerId: string) => tryLock('share_import', 'pg_try_advisory_lock_shared', ownerId),
    /** Takes the lock of commands that remove files. @returns false while another command changes files of this user */
    own: (ownerId: string) => tryLock('own_import', 'pg_try_advisory_lock', ownerId),

    /** False if the connection that has the lock was closed: the pool then opens another one without an error. */
    isStillLocked: async (): Promise<boolean> => lockedBy !== undefined && (await findSession()) === lockedBy,

    /** Keeps the connection in use during a slow walk or a confirmation. @returns a function that stops this */
    keepLock(): () => void {
      // The next statement reports a failure.
      const timer = setInterval(() => void findSession().catch(() => {}), KEEP_ALIVE_MS)
      return () => clearInterval(timer)
    },

    /** The session that has the lock. */
    session: (): string | undefined => lockedBy
  }
}

const valuesOf = ({ ownerId, within, unread }: Below) => ({
  ownerId,
  rootIds: within.map(({ rootId }) => rootId ?? null),
  paths: within.map(({ path }) => path),
  unreadRootIds: unread.map(({ rootId }) => rootId ?? null),
  unreadPaths: unread.map(({ path }) => path)
})
