// These settings only add to the estimated cost, so a statement without a suitable index still runs. Its high estimate would
// trigger JIT compilation, which is therefore off.
const INDEX_SCANS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off'
}

/**
 * Planner settings of a connection. `kept`: every execution of a statement uses the generic plan. `kept by index`: and that
 * plan uses index scans wherever possible, so that a plan made for an empty table is also right for ten million rows.
 */
const PLAN_SETTINGS = {
  kept: { plan_cache_mode: 'force_generic_plan' },
  'kept by index': { plan_cache_mode: 'force_generic_plan', ...INDEX_SCANS }
}

export type Plans = keyof typeof PLAN_SETTINGS

/** Milliseconds after which Postgres ends a statement of a request; 500 ms before our own limit. */
export const REQUEST_STATEMENT_TIMEOUT_MS = 2_000

/** The statements that set the planner of a connection. */
export const planStatements = (plans: Plans): string =>
  Object.entries(PLAN_SETTINGS[plans])
    .map(([name, value]) => `set ${name} = ${value}`)
    .join('; ')

/** The settings that a role needs if `DATABASE_URL` leads to a pooler, whose connections no process may change. */
export const roleSettings = (plans: Plans): Readonly<Record<string, string>> => ({
  statement_timeout: `${REQUEST_STATEMENT_TIMEOUT_MS / 1_000}s`,
  ...PLAN_SETTINGS[plans]
})

type OwnSetting = {
  /** What each connection sets. */
  value: string
  /** The values with which a connection of a pooler works, because no process may set those. Default: all. */
  works?: RegExp
}

/**
 * Settings of text and behaviour on which statements and the driver depend. A role or a database may have other values. The
 * rest of what a role may set changes neither results nor text (docs/databases.md, "Settings of a role or database").
 */
export const OWN_SETTINGS: Readonly<Record<string, OwnSetting>> = {
  // The driver reads points in time in ISO format only.
  datestyle: { value: 'ISO, YMD', works: /^ISO\b/ },
  intervalstyle: { value: 'postgres' },
  timezone: { value: 'UTC' },
  bytea_output: { value: 'hex', works: /^hex$/ },
  extra_float_digits: { value: '1', works: /^[0-3]$/ },
  standard_conforming_strings: { value: 'on', works: /^on$/ },
  backslash_quote: { value: 'safe_encoding' },
  array_nulls: { value: 'on', works: /^on$/ },
  quote_all_identifiers: { value: 'off', works: /^off$/ },
  transform_null_equals: { value: 'off' },
  xmloption: { value: 'content' },
  row_security: { value: 'on' },
  exit_on_error: { value: 'off', works: /^off$/ },
  // A higher level refuses statements that ran at the same time as others.
  default_transaction_isolation: { value: 'read committed', works: /^read (un)?committed$/ },
  default_transaction_deferrable: { value: 'off' },
  // Statements have a time limit of their own; connections are idle as long as the pool keeps them.
  lock_timeout: { value: '0' },
  idle_session_timeout: { value: '0' },
  transaction_timeout: { value: '0' }
}

/** What no connection can change. */
const REQUIRED: Readonly<Record<string, RegExp>> = {
  server_encoding: /^UTF8$/,
  // The driver asks for it; a pooler may not pass it on.
  client_encoding: /^UTF8$/,
  // `replica` switches off triggers and foreign keys.
  session_replication_role: /^(origin|local)$/
}

const quoted = (names: readonly string[]): string => `'{${names.join(',')}}'::text[]`

/** Sets `OWN_SETTINGS`; those that a version of Postgres lacks are left out. */
export const SET_OWN_SETTINGS = `
  select set_config(own.name, own.value, false)
  from (values ${Object.entries(OWN_SETTINGS)
    .map(([name, { value }]) => `('${name}', '${value}')`)
    .join(', ')}) as own (name, value)
  where current_setting(own.name, true) is not null`

/** A row of `READ_SETTINGS`. */
export type FoundSettings = { pid: number; schema: string | null; settings: Readonly<Record<string, string | null>> }

/** The process id of the connection's Postgres process, and the settings that `unusableSetting` examines. */
export const READ_SETTINGS = `
  select pg_backend_pid() as pid, current_schema() as schema,
    json_object_agg(name, current_setting(name, true)) as settings
  from unnest(${quoted([...Object.keys(OWN_SETTINGS), ...Object.keys(REQUIRED)])}) as name`

/** @returns name and value of the first setting with which requests would fail; `schema` if the role may use none */
export function unusableSetting({ schema, settings }: FoundSettings): { name: string; value: string } | undefined {
  if (schema === null) return { name: 'schema', value: 'none' }
  const expected = Object.entries(OWN_SETTINGS).map(([name, { works }]) => [name, works] as const)
  for (const [name, works] of [...Object.entries(REQUIRED), ...expected]) {
    const value = settings[name] ?? undefined
    if (value !== undefined && works?.test(value) === false) return { name, value }
  }
  return undefined
}

/** What an operator does about an unusable setting. @param role as SQL writes it */
export function remedyOfSetting(name: string, role = 'the role'): string {
  if (name === 'schema') return `grant usage on the schema to ${role} (public, or the one that its search_path names)`
  if (name === 'server_encoding')
    return 'create the database with encoding UTF8 and template template0, and move the data'
  return `reset it for role and database: alter role ${role} reset ${name}; alter database … reset ${name}`
}
