// The command line of core-model.mjs and seeded-races.mjs.
import { parseArgs } from 'node:util'

const HELP = `node e2e/core-model.mjs [options]

Runs random schedules on two authorization servers with real stores, and checks each history against the model.

  --operations N      operations to run (default 10000)
  --seed N            seed of the first batch; later ones count up (default: random). To replay a failure, give the seed
                      that it printed, and --operations 1
  --cells N           users with a client at the same time in a batch (default 24)
  --steps N           the most parts of the schedule of a cell (default 20)
  --shrink-seconds N  how long a failure is shrunk (default 60)
  --minutes N         time limit (default 30)
  --help              this text

Exit code 0: every history is allowed. 1: one is not; its batch is shrunk and printed with its seed.`

const NUMBERS = /** @type {const} */ ({
  operations: [10_000, 1, 100_000_000],
  seed: [0, 0, 2_147_483_647],
  cells: [24, 1, 200],
  steps: [20, 1, 200],
  'shrink-seconds': [60, 0, 3_600],
  minutes: [30, 1, 1_000]
})

/** @param {readonly string[]} args */
export function readModelOptions(args) {
  const text = /** @type {const} */ ({ type: 'string' })
  const options = {
    operations: text,
    seed: text,
    cells: text,
    steps: text,
    'shrink-seconds': text,
    minutes: text,
    help: /** @type {const} */ ({ type: 'boolean' })
  }
  const { values } = parseArgs({ args: [...args], options })
  if (values.help) {
    console.log(HELP)
    process.exit(0)
  }
  /** @param {keyof typeof NUMBERS} name */
  const number = (name) => {
    const [preset, least, most] = NUMBERS[name]
    const value = Number(values[name] ?? preset)
    if (Number.isInteger(value) && value >= least && value <= most) return value
    console.error(`--${name} is a number from ${least} to ${most}.`)
    return process.exit(2)
  }
  return {
    operations: number('operations'),
    seed: values.seed === undefined ? Math.floor(Math.random() * 1_000_000_000) : number('seed'),
    cells: number('cells'),
    steps: number('steps'),
    shrinkSeconds: number('shrink-seconds'),
    minutes: number('minutes')
  }
}
