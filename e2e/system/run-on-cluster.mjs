// Runs a manually started program on a cluster, and removes everything at its end.
import { parseArgs } from 'node:util'
import { startCluster } from './start-cluster.mjs'

/**
 * Starts a cluster, runs the work on it, prints its lines, and ends the process.
 * @param work returns the exit code and the lines to print
 */
export async function runOnCluster({ minutes, ...options }, work) {
  const cluster = await startCluster(options)
  let isStopped = false
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
    await finish(1, [error.stack])
  }
}

/**
 * Reads the command line, and ends the process if a value is not allowed.
 * @param numbers for each option: default, minimum and maximum
 * @param choices for each option: the allowed words, the default first
 */
export function readOptions(numbers, choices = {}) {
  const presets = Object.entries({ ...numbers, ...choices }).map(([name, [preset]]) => [name, `${preset}`])
  const options = presets.map(([name, preset]) => [name, { type: 'string', default: preset }])
  const { values } = parseArgs({ options: Object.fromEntries(options) })
  for (const [name, [, least, most]] of Object.entries(numbers)) {
    const number = Number(values[name])
    if (!(Number.isInteger(number) && number >= least && number <= most))
      refuse(name, `a number from ${least} to ${most}`)
    values[name] = number
  }
  for (const [name, words] of Object.entries(choices)) {
    if (!words.includes(values[name])) refuse(name, `one of ${words.join(', ')}`)
  }
  return values
}

function refuse(name, allowed) {
  console.error(`--${name} is ${allowed}.`)
  process.exit(2)
}
