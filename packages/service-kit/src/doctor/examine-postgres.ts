import type { Client } from 'pg'
import { MigrationError, pendingMigrations } from '../postgres/migrate.js'
import { findPooling } from '../postgres/postgres-pooler.js'
import { connectToPrimary } from '../postgres/postgres-primary.js'
import { type Plans, SET_OWN_SETTINGS } from '../postgres/postgres-settings.js'
import { evaluateClock, measureClock } from './evaluate-clock.js'
import { evaluatePooling } from './evaluate-pooling.js'
import { evaluateReplication, type ReplicationState } from './evaluate-replication.js'
import { examineDirectUrl, examineNotifications, examineRoleSettings, examineSettings } from './examine-direct-url.js'
import { type Finding, fatal, graveInProduction, ok, warning } from './finding.js'

type State = {
  role: string
  is_superuser: boolean
  has_privileges: boolean
  may_create: boolean
  owns_tables: boolean
  /** Our tables in which the role lacks one of the rights select, insert, update and delete. */
  forbidden_tables: string[]
  /** Our `security definer` functions that the role may not execute. */
  forbidden_functions: string[]
  fsync: string
  version: number
} & ReplicationState

const STATE = `
  select r.rolname as role, r.rolsuper as is_superuser,
    r.rolcreaterole or r.rolcreatedb or r.rolbypassrls or r.rolreplication as has_privileges,
    has_schema_privilege(r.oid, to_regnamespace(quote_ident(current_schema())), 'create') as may_create,
    exists (
      select 1 from pg_class c
      where c.relnamespace = to_regnamespace(quote_ident(current_schema())) and c.relkind in ('r', 'p') and pg_has_role(r.oid, c.relowner, 'member')
    ) as owns_tables,
    array(
      select c.relname::text from pg_class c
      where c.relnamespace = to_regnamespace(quote_ident(current_schema())) and c.relkind in ('r', 'p') and c.relname <> 'schema_migrations'
        and exists (
          select 1 from unnest('{select,insert,update,delete}'::text[]) as needed
          where not has_table_privilege(r.oid, c.oid, needed))
      order by 1
    ) as forbidden_tables,
    array(
      select p.proname::text from pg_proc p
      where p.pronamespace = to_regnamespace(quote_ident(current_schema())) and p.prosecdef and not has_function_privilege(r.oid, p.oid, 'execute')
      order by 1
    ) as forbidden_functions,
    current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
    current_setting('synchronous_standby_names') as synchronous_standby_names,
    (select count(*)::int from pg_replication_slots where slot_type = 'physical' and active) as standbys,
    current_setting('server_version_num')::int as version
  from pg_roles r where r.rolname = current_user`

const MIN_VERSION = 150_000

type PostgresExamination = {
  migrations: string
  isProduction: boolean
  listens: boolean
  plans: Plans
  direct: { setting: string; url: string | undefined }
}

/**
 * Checks a database over one connection: reachability, a pooler in front, the clock, durability, our rights and our
 * tables.
 * @param options.listens whether the service uses LISTEN
 * @param options.plans how the service connects
 * @param options.direct the URL of Postgres itself, if the other one leads to a pooler, and the name of its setting
 */
export async function examinePostgres(url: string, options: PostgresExamination): Promise<readonly Finding[]> {
  try {
    const client = await connectToPrimary(url, { connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
    try {
      // The service sets them as well; no process may set them on a connection of a pooler.
      if (options.direct.url === undefined) await client.query(SET_OWN_SETTINGS)
      const settings = await examineSettings(client)
      const { rows } = await client.query<State>(STATE)
      const offset = await measureClock(async () => {
        const clock = await client.query<{ now: number }>('select extract(epoch from clock_timestamp())::float8 as now')
        return (clock.rows[0]?.now ?? 0) * 1_000
      })
      const state = rows[0] as State
      const findings = [ok('postgres', `responds as ${state.role}`), evaluateClock('postgres clock', offset), settings]
      return [
        ...findings,
        ...(await examineConnections(client, url, state, options)),
        ...evaluateServer(state, options.isProduction),
        ...evaluateReplication(state),
        ...(await evaluateMigrations(url, options.migrations))
      ]
    } finally {
      await client.end()
    }
  } catch (error) {
    return [
      fatal('postgres', {
        what: `cannot be reached or queried: ${reasonOf(error)}`,
        why: 'The service does not work without it.',
        fix: 'check the host, network, role, password and certificate in the URL'
      })
    ]
  }
}

/** Poolers, LISTEN, and the settings that connections of a pooler do not get. */
async function examineConnections(
  client: Client,
  url: string,
  { role }: State,
  { listens, plans, direct }: PostgresExamination
): Promise<readonly Finding[]> {
  const pooling = await findPooling(url)
  const hasDirect = direct.url !== undefined
  const found = evaluatePooling(pooling, { listens, directSetting: direct.setting, hasDirect })
  if (direct.url !== undefined) {
    return [
      found,
      await examineDirectUrl(client, direct.setting, direct.url),
      await examineRoleSettings(client, role, plans)
    ]
  }
  return listens && pooling === 'direct' ? [found, await examineNotifications(client, 'postgres LISTEN', url)] : [found]
}

function evaluateRights({ role, forbidden_tables: tables, forbidden_functions: functions }: State): readonly Finding[] {
  const why = 'Requests and commands that need these rights fail.'
  const onTables = fatal('postgres rights', {
    what: `${role} may not select, insert, update and delete rows in ${tables.join(', ')}`,
    why,
    fix: 'grant select, insert, update, delete on all tables in schema public to it'
  })
  const onFunctions = fatal('postgres rights', {
    what: `${role} may not execute ${functions.join(', ')}`,
    why,
    fix: `grant execute on function ${functions.join(', ')} to it`
  })
  return [...(tables.length > 0 ? [onTables] : []), ...(functions.length > 0 ? [onFunctions] : [])]
}

function evaluateServer(state: State, isProduction: boolean): readonly Finding[] {
  const findings: Finding[] = [evaluateRole(state, isProduction), ...evaluateRights(state)]
  if (state.version < MIN_VERSION) {
    const what = `is version ${Math.floor(state.version / 10_000)}`
    findings.push(
      warning('postgres version', {
        what,
        why: 'Valetkey is tested with version 18; versions before 15 are not supported.',
        fix: 'upgrade Postgres'
      })
    )
  }
  if (state.fsync === 'off' || state.synchronous_commit === 'off') {
    findings.push(
      graveInProduction(isProduction)('postgres durability', {
        what: `fsync is ${state.fsync}, synchronous_commit is ${state.synchronous_commit}`,
        why: 'After a crash, a used code may work again, and a revoked token may be valid again.',
        fix: 'set both to on'
      })
    )
  }
  return findings
}

function evaluateRole(state: State, isProduction: boolean): Finding {
  const separate = 'run the service with its own role, see "Roles" in docs/databases.md'
  if (state.is_superuser || state.has_privileges) {
    return graveInProduction(isProduction)('postgres role', {
      what: `${state.role} is a superuser, or may create roles or databases`,
      why: 'An attacker who takes over the service would control the whole database server.',
      fix: separate
    })
  }
  if (state.owns_tables || state.may_create) {
    return warning('postgres role', {
      what: `${state.role} may change the schema`,
      why: 'The service only reads and writes rows. Only migrations need the right to create and drop tables.',
      fix: separate
    })
  }
  return ok('postgres role', `${state.role} may not change the schema`)
}

async function evaluateMigrations(url: string, directory: string): Promise<readonly Finding[]> {
  try {
    const pending = await pendingMigrations(url, directory)
    if (pending.length === 0) return [ok('migrations', 'all applied')]
    const what = `${pending.length} not applied, starting with ${pending[0]}`
    return [fatal('migrations', { what, why: 'This release needs them.', fix: 'run the migrate command' })]
  } catch (error) {
    const what = `unknown: ${reasonOf(error)}`
    const why = 'If tables differ from what the code expects, requests fail.'
    if (error instanceof MigrationError)
      return [fatal('migrations', { what, why, fix: 'deploy the release that the database was migrated to' })]
    return [warning('migrations', { what, why, fix: 'grant select on schema_migrations to the role' })]
  }
}

function reasonOf(error: unknown): string {
  const { message, code } = Object(error) as { message?: string; code?: string }
  return message || code || 'unknown'
}
