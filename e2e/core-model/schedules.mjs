// Random schedules: batches of cells that run at the same time on one system, with a fault and a delay of the stores.
import fc from 'fast-check'

/**
 * @typedef {typeof KINDS[number]} Kind
 * @typedef {object} Command
 * @property {Kind} kind
 * @property {number} server
 * @property {number} delayMs after the start of its step
 * @property {number} nth which of the known codes or tokens, the newest first
 * @property {number | undefined} cutAfterMs resets the connection
 */
/** @typedef {Command[]} Step commands that run at the same time */
/** @typedef {{ kind: typeof FAULTS[number], server: number, atMs: number, forMs: number }} Fault */
/** @typedef {{ cells: Step[][], fault: Fault, latencyMs: number }} Batch */

const KINDS = /** @type {const} */ ([
  'authorize',
  'allow',
  'exchange',
  'replay',
  'exchange_wrong',
  'refresh',
  'refresh_old',
  'introspect',
  'cache',
  'read_cached',
  'revoke_access',
  'revoke_refresh',
  'end_app',
  'end_pair',
  'end_of_user',
  'end_to_client',
  'end_grant',
  'global_revocation',
  'disable_user',
  'disable_client',
  'lose_code',
  'restore_code',
  'hold_locks',
  'end_and_read',
  'wait'
])

const FAULTS = /** @type {const} */ ([
  'none',
  'crash',
  'stalled_server',
  'stalled_postgres',
  'stalled_redis',
  'lost_postgres',
  'lost_redis'
])

/** @typedef {Record<string, number>} Weights */
/** @type {Weights} */
const ALONE = {
  authorize: 4,
  allow: 4,
  exchange: 12,
  replay: 4,
  exchange_wrong: 2,
  refresh: 10,
  refresh_old: 6,
  introspect: 6,
  cache: 6,
  read_cached: 5,
  revoke_access: 2,
  revoke_refresh: 2,
  end_app: 2,
  end_pair: 2,
  end_of_user: 2,
  end_to_client: 2,
  end_grant: 2,
  lose_code: 1,
  restore_code: 2,
  global_revocation: 1,
  disable_user: 1,
  disable_client: 1,
  wait: 2
}
/** Commands whose order decides. They concern the same code or grant. */
const RACES = /** @type {Kind[][]} */ ([
  ['hold_locks', 'refresh', 'refresh'],
  ['hold_locks', 'refresh', 'refresh'],
  ['hold_locks', 'refresh', 'refresh_old'],
  ['hold_locks', 'refresh', 'end_grant', 'refresh'],
  ['hold_locks', 'refresh', 'end_pair'],
  ['hold_locks', 'replay', 'refresh'],
  ['exchange', 'exchange'],
  ['exchange', 'exchange', 'exchange'],
  ['exchange', 'replay'],
  ['exchange', 'end_pair'],
  ['exchange', 'end_app'],
  ['exchange', 'end_to_client'],
  ['exchange', 'global_revocation'],
  ['exchange', 'disable_client'],
  ['exchange', 'exchange_wrong'],
  ['refresh', 'refresh'],
  ['refresh', 'refresh', 'refresh'],
  ['refresh', 'refresh_old'],
  ['refresh', 'revoke_refresh'],
  ['refresh', 'replay'],
  ['refresh', 'end_grant'],
  ['refresh', 'end_of_user'],
  ['refresh', 'introspect'],
  ['allow', 'end_app'],
  ['allow', 'end_pair'],
  ['allow', 'allow'],
  ['allow', 'end_of_user'],
  ['authorize', 'end_pair'],
  ['authorize', 'end_to_client'],
  ['allow', 'global_revocation'],
  ['read_cached', 'end_pair'],
  ['read_cached', 'end_grant'],
  ['introspect', 'end_app', 'refresh'],
  ['exchange', 'lose_code']
])
/** What happens one after the other, and is rare among random commands. */
const STORIES = /** @type {Kind[][]} */ ([
  ['exchange', 'cache', 'end_and_read'],
  ['exchange', 'cache', 'end_and_read'],
  ['exchange', 'cache', 'end_pair', 'read_cached'],
  ['exchange', 'cache', 'end_to_client', 'read_cached'],
  ['exchange', 'cache', 'revoke_access', 'read_cached'],
  ['exchange', 'refresh', 'wait', 'refresh_old'],
  ['exchange', 'refresh', 'refresh', 'refresh_old'],
  ['exchange', 'restore_code', 'replay', 'introspect'],
  ['allow', 'end_app', 'authorize'],
  ['authorize', 'end_pair', 'exchange', 'introspect'],
  ['authorize', 'disable_client', 'exchange'],
  ['authorize', 'global_revocation', 'exchange'],
  ['exchange', 'end_grant', 'refresh', 'introspect'],
  ['refresh', 'end_of_user', 'refresh_old']
])

const server = fc.nat({ max: 1 })
const delayMs = fc.oneof(fc.constant(0), fc.nat({ max: 6 }))
const nth = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat({ max: 3 }) })
const cutAfterMs = fc.option(fc.nat({ max: 12 }), { nil: undefined, freq: 6 })

/** @param {Kind} kind */
const command = (kind) => fc.record({ kind: fc.constant(kind), server, delayMs, nth, cutAfterMs })
/** @param {readonly Kind[]} kinds */
const together = (kinds) =>
  fc
    .tuple(fc.nat({ max: 3 }), ...kinds.map(command))
    // Mostly at both servers in turn.
    .map(([turn, ...made]) =>
      made.map((one, index) => ({ ...one, nth: 0, server: turn < 2 ? (turn + index) % 2 : one.server }))
    )
const alone = fc.oneof(
  ...KINDS.filter((kind) => ALONE[kind]).map((kind) => ({
    weight: ALONE[kind] ?? 1,
    arbitrary: command(kind).map((made) => [made])
  }))
)
const race = fc.oneof(...RACES.map(together))
const story = fc.oneof(
  ...STORIES.map((kinds) =>
    fc.tuple(...kinds.map((kind) => command(kind).map((made) => [{ ...made, nth: 0, cutAfterMs: undefined }])))
  )
)
const steps = fc.oneof(
  { weight: 6, arbitrary: alone.map((step) => [step]) },
  { weight: 4, arbitrary: race.map((step) => [step]) },
  { weight: 2, arbitrary: story }
)

/** @type {Record<typeof FAULTS[number], number>} */
const FAULT_WEIGHTS = {
  none: 8,
  crash: 1,
  stalled_server: 2,
  stalled_postgres: 1,
  stalled_redis: 1,
  lost_postgres: 2,
  lost_redis: 2
}
const fault = fc.record({
  kind: fc.oneof(...FAULTS.map((kind) => ({ weight: FAULT_WEIGHTS[kind], arbitrary: fc.constant(kind) }))),
  server,
  atMs: fc.nat({ max: 600 }),
  forMs: fc.integer({ min: 50, max: 700 })
})

/** @param {number} parts */
const schedule = (parts) =>
  fc.array(steps, { minLength: 0, maxLength: parts, size: 'max' }).map((all) => /** @type {Step[]} */ (all.flat()))

/**
 * @param {{ cells: number, steps: number }} size
 * @returns {fc.Arbitrary<Batch>}
 */
export const batches = (size) =>
  fc.record({
    // A cell without steps is left out: so a failure is shrunk.
    cells: fc.array(schedule(size.steps), { minLength: size.cells, maxLength: size.cells }),
    fault,
    latencyMs: fc.constantFrom(0, 3, 8)
  })
