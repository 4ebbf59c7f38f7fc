import { MigrationError, pendingMigrations } from '../migrate.js'
import { findPooling } from '../postgres-pooler.js'
import { connectToPrimary } from '../postgres-primary.js'
import { type Finding, fatal, graveInProduction, ok, warning } from './finding.js'
import { judgeClock, measureClock } from './judge-clock.js'
import { judgePooling } from './judge-pooling.js'

type State = {
  role: string
  is_superuser: boolean
  has_powers: boolean
  may_create: boolean
  owns_tables: boolean
  /** Of ours, those in which it may not do all that services and commands do: read, add, change and delete rows. */
  closed_tables: string[]
  /** Of ours, those with the rights of their owner that it may not execute. */
  closed_functions: string[]
  fsync: string
  synchronous_commit: string
  version: number
}

const STATE = `
  select r.rolname as role, r.rolsuper as is_superuser,
    r.rolcreaterole or r.rolcreatedb or r.rolbypassrls or r.rolreplication as has_powers,
    has_schema_privilege(r.oid, 'public', 'create') as may_create,
    exists (
      select 1 from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and pg_has_role(r.oid, c.relowner, 'member')
    ) as owns_tables,
    array(
      select c.relname::text from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relname <> 'schema_migrations'
        and exists (
          select 1 from unnest('{select,insert,update,delete}'::text[]) as needed
          where not has_table_privilege(r.oid, c.oid, needed))
      order by 1
    ) as closed_tables,
    array(
      select p.proname::text from pg_proc p
      where p.pronamespace = 'public'::regnamespace and p.prosecdef and not has_function_privilege(r.oid, p.oid, 'execute')
      order by 1
    ) as closed_functions,
    current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
    current_setting('server_version_num')::int as version
  from pg_roles r where r.rolname = current_user`

const OLDEST = 150_000

/**
 * What can be seen of a database from within: whether it answers, a pooler before it, its clock, its durability, our
 * rights, our tables.
 * @param options.listens whether the service listens for notifications
 */
export async function examinePostgres(
  url: string,
  options: { migrations: string; isProduction: boolean; listens: boolean }
): Promise<readonly Finding[]> {
  try {
    const client = await connectToPrimary(url, { connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
    try {
      const { rows } = await client.query<State>(STATE)
      const offset = await measureClock(async () => {
        const clock = await client.query<{ now: number }>('select extract(epoch from clock_timestamp())::float8 as now')
        return (clock.rows[0]?.now ?? 0) * 1_000
      })
      const state = rows[0] as State
      const found = [ok('postgres', `answers as ${state.role}`), judgeClock('postgres clock', offset)]
      return [
        ...found,
        judgePooling(await findPooling(url), options.listens),
        ...judgeServer(state, options.isProduction),
        ...(await judgeMigrations(url, options.migrations))
      ]
    } finally {
      await client.end()
    }
  } catch (error) {
    return [
      fatal('postgres', {
        what: `cannot be reached or asked: ${reasonOf(error)}`,
        why: 'Nothing works without it.',
        mend: 'look at the host, the network, the role, its password and the certificate that the URL names'
      })
    ]
  }
}

function judgeRights({ role, closed_tables: tables, closed_functions: functions }: State): readonly Finding[] {
  const why = 'Requests and commands that need them fail.'
  const onTables = fatal('postgres rights', {
    what: `${role} may not read, add, change and delete rows in ${tables.join(', ')}`,
    why,
    mend: 'grant select, insert, update, delete on all tables in schema public to it'
  })
  const onFunctions = fatal('postgres rights', {
    what: `${role} may not execute ${functions.join(', ')}`,
    why,
    mend: `grant execute on function ${functions.join(', ')} to it`
  })
  return [...(tables.length > 0 ? [onTables] : []), ...(functions.length > 0 ? [onFunctions] : [])]
}

function judgeServer(state: State, isProduction: boolean): readonly Finding[] {
  const findings: Finding[] = [judgeRole(state, isProduction), ...judgeRights(state)]
  if (state.version < OLDEST) {
    const what = `is version ${Math.floor(state.version / 10_000)}`
    findings.push(
      warning('postgres version', {
        what,
        why: 'The tests run on 18, and nothing older than 15 is tried.',
        mend: 'upgrade it'
      })
    )
  }
  if (state.fsync === 'off' || state.synchronous_commit === 'off') {
    findings.push(
      graveInProduction(isProduction)('postgres durability', {
        what: `fsync is ${state.fsync}, synchronous_commit is ${state.synchronous_commit}`,
        why: 'After a crash a code may be redeemed again, and a revoked token live again.',
        mend: 'set both to on'
      })
    )
  }
  return findings
}

function judgeRole(state: State, isProduction: boolean): Finding {
  const separate = 'run the service with a role of its own, as docs/databases.md says under "Roles"'
  if (state.is_superuser || state.has_powers) {
    return graveInProduction(isProduction)('postgres role', {
      what: `${state.role} is a superuser, or may make roles or databases`,
      why: 'A hole in the service would be one in the whole server.',
      mend: separate
    })
  }
  if (state.owns_tables || state.may_create) {
    return warning('postgres role', {
      what: `${state.role} may change the tables themselves`,
      why: 'The service needs rows only; the right to make and drop tables is for migrations.',
      mend: separate
    })
  }
  return ok('postgres role', `${state.role} may not change tables`)
}

async function judgeMigrations(url: string, directory: string): Promise<readonly Finding[]> {
  try {
    const pending = await pendingMigrations(url, directory)
    if (pending.length === 0) return [ok('migrations', 'all applied')]
    const what = `${pending.length} not applied, the first is ${pending[0]}`
    return [fatal('migrations', { what, why: 'This release needs them.', mend: 'run the migrate command first' })]
  } catch (error) {
    const what = `cannot be told: ${reasonOf(error)}`
    const why = 'Tables that differ from what the code expects fail in the middle of requests.'
    if (error instanceof MigrationError)
      return [fatal('migrations', { what, why, mend: 'deploy the release that was migrated' })]
    return [warning('migrations', { what, why, mend: 'grant select on schema_migrations to the role' })]
  }
}

function reasonOf(error: unknown): string {
  const { message, code } = Object(error) as { message?: string; code?: string }
  return message || code || 'unknown'
}
