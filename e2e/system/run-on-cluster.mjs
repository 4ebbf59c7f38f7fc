// Runs a manually started program on a cluster, and removes everything at its end.
import { parseArgs } from 'node:util'
import { startCluster } from './start-cluster.mjs'

/** @import { Cluster, ClusterOptions } from './start-cluster.mjs' */

/**
 * Starts a cluster, runs the work on it, prints its lines, and ends the process.
 * @param {ClusterOptions & { minutes: number }} options
 * @param {(cluster: Cluster) => Promise<[code: number, lines: string[]]>} work returns the exit code and the lines to print
 */
export async function runOnCluster({ minutes, ...options }, work) {
  const cluster = await startCluster(options)
  let isStopped = false
  /**
   * @param {number} code
   * @param {readonly string[]} lines
   */
  const finish = async (code, lines) => {
    if (isStopped) return
    isStopped = true
    await cluster.stop()
    console.log(lines.join('\n'))
    process.exit(code)
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => finish(130, [`stopped by ${signal}`]))
  setTimeout(() => finish(1, [`stopped after ${minutes} minutes`]), minutes * 60_000).unref()
  try {
    await finish(...(await work(cluster)))
  } catch (error) {
    await finish(1, [error instanceof Error ? (error.stack ?? error.message) : String(error)])
  }
}

/**
 * Reads the command line, and ends the process if a value is not allowed.
 * @template {string} Numeric
 * @template {string} [Choice=never]
 * @param {Record<Numeric, [preset: number, least: number, most: number]>} numbers
 * @param {Record<Choice, [preset: string, ...others: string[]]>} [choices] the allowed words, the default first
 * @returns {Record<Numeric, number> & Record<Choice, string>}
 */
export function readOptions(numbers, choices) {
  /** @type {Record<string, [number, number, number]>} */
  const ranges = numbers
  /** @type {Record<string, string[]>} */
  const words = choices ?? {}
  const presets = Object.entries({ ...ranges, ...words }).map(([name, [preset]]) => [name, `${preset}`])
  const options = presets.map(([name, preset]) => [name, /** @type {const} */ ({ type: 'string', default: preset })])
  const parsed = parseArgs({ options: Object.fromEntries(options) })
  /** @type {Record<string, unknown>} */
  const values = parsed.values
  const read = Object.entries(ranges).map(([name, [, least, most]]) => {
    const number = Number(values[name])
    const isAllowed = Number.isInteger(number) && number >= least && number <= most
    return [name, isAllowed ? number : refuse(name, `a number from ${least} to ${most}`)]
  })
  for (const [name, allowed] of Object.entries(words)) {
    if (!allowed.includes(String(values[name]))) refuse(name, `one of ${allowed.join(', ')}`)
  }
  /** @type {unknown} */
  const all = { ...values, ...Object.fromEntries(read) }
  return /** @type {Record<Numeric, number> & Record<Choice, string>} */ (all)
}

/**
 * @param {string} name
 * @param {string} allowed
 * @returns {never}
 */
function refuse(name, allowed) {
  console.error(`--${name} is ${allowed}.`)
  process.exit(2)
}
