// Reads and writes coefficients.json.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const FILE = path.resolve(
  process.env.BENCH_COEFFICIENTS || fileURLToPath(new URL('coefficients.json', import.meta.url))
)

/** Units of the groups; every group is measured by `npm run bench:capacity`, except `memory`. */
const UNITS = {
  cores: 'processor seconds of one request; `base`: cores that a process of Valetkey, or the store, uses besides',
  wal: 'bytes of the log of Postgres: records of one request, and a whole page',
  auditRows: 'rows of audit_events for one request',
  rowBytes: 'bytes of a row: in the table, and in each index',
  redis: 'bytes of a record; commands of one request',
  notification:
    'processor seconds: of Postgres for each delivery, of an authorization server for each; commits a second',
  memory: 'bytes of a process under load; docs/capacity.md, `npm run bench:memory`'
}

/** @returns the coefficients by group, and `run`: date, commit, machine and versions */
export function readCoefficients() {
  if (!existsSync(FILE)) throw new Error('There are no coefficients: run npm run bench:capacity.')
  return JSON.parse(readFileSync(FILE, 'utf8'))
}

export function writeCoefficients(run, groups) {
  const content = { run, command: 'npm run bench:capacity', units: UNITS, ...rounded(groups) }
  writeFileSync(FILE, `${JSON.stringify(content, null, 2)}\n`)
  console.log(`written to ${FILE}`)
}

/** Four digits, so that changes are readable. */
function rounded(value) {
  if (typeof value === 'number') return Number(value.toPrecision(4))
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, rounded(inner)]))
}
