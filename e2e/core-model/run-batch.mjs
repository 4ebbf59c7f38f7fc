// Runs one batch of schedules and checks the history of each of its cells.
import { openCell } from './cell.mjs'
import { checkHistory } from './check-history.mjs'

/** @import { Batch } from './schedules.mjs' */
/** @import { World } from './world.mjs' */
/** @typedef {{ operations: number, cells: number, undecided: number, faults: Record<string, number>, checkMs: number }} Counts */

/**
 * @param {World} world
 * @param {Batch} batch
 * @param {Counts} counts
 * @returns {Promise<string | undefined>} a description of the first history that the model does not allow
 */
export async function runBatch(world, { cells: all, fault, latencyMs }, counts) {
  const cells = all.filter(({ length }) => length > 0)
  world.setLatency(latencyMs)
  counts.faults[fault.kind] = (counts.faults[fault.kind] ?? 0) + 1
  const opened = await Promise.all(cells.map(() => openCell(world)))
  await Promise.all([world.cause(fault), ...opened.map((cell, index) => cell.run(cells[index] ?? []))])
  const began = performance.now()
  let found
  for (const { initial, operations } of opened) {
    counts.cells += 1
    counts.operations += operations.length
    const verdict = checkHistory(initial, operations)
    if (verdict.kind === 'undecided') counts.undecided += 1
    if (verdict.kind === 'impossible') found ??= describe(verdict)
  }
  counts.checkMs += performance.now() - began
  return found
}

/** @param {{ order: string[], stuck: string[], state: object }} verdict */
function describe({ order, stuck, state }) {
  return [
    'The model allows these operations in this order:',
    ...order.map((line) => `  ${line}`),
    'but none of these next:',
    ...stuck.map((line) => `  ${line}`),
    `in the state ${JSON.stringify(state)}`
  ].join('\n')
}
