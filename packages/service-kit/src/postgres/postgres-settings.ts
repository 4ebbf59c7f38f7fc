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
