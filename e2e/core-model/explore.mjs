// Runs batches until an operation count is reached or one fails, and shrinks the failure.
import fc from 'fast-check'
import { CODE_LIFE_MS, RETRY_WINDOW_MS } from './model-state.mjs'
import { runBatch } from './run-batch.mjs'
import { batches } from './schedules.mjs'

/** @import { Counts } from './run-batch.mjs' */
/** @import { Batch } from './schedules.mjs' */
/** @import { World } from './world.mjs' */
/** @typedef {{ operations: number, seed: number, cells: number, steps: number, shrinkSeconds: number }} Exploration */
/** @typedef {{ seed: number, counts: Counts, found: string, batch: Batch | undefined }} Failure */

/** Settings of the servers that the model knows. */
export const SETTINGS = {
  CODE_TTL: String(CODE_LIFE_MS / 1_000),
  REFRESH_RETRY_WINDOW: String(RETRY_WINDOW_MS / 1_000)
}
/** Chance decides the outcome of a batch, so a shorter one is run several times before it counts as without failure. */
const REPEATS = 5
const REPORT_EVERY = 1_000

/**
 * @param {World} world
 * @param {Exploration} exploration
 * @returns {Promise<{ counts: Counts, failure: Failure | undefined }>}
 */
export async function explore(world, { operations, seed, cells, steps, shrinkSeconds }) {
  /** @type {Counts} */
  const counts = { operations: 0, cells: 0, undecided: 0, faults: {}, checkMs: 0 }
  let reported = 0
  for (let next = seed; counts.operations < operations; next++) {
    /** @type {{ found: string, counts: Counts, at: number } | undefined} */
    let failure
    const property = fc.asyncProperty(batches({ cells, steps }), async (batch) => {
      const isShrinking = failure !== undefined
      if (failure !== undefined && performance.now() - failure.at > shrinkSeconds * 1_000) return
      for (let tries = isShrinking ? REPEATS : 1; tries > 0; tries--) {
        const found = await runBatch(world, batch, counts)
        if (found === undefined) continue
        failure = { found, counts: failure?.counts ?? structuredClone(counts), at: failure?.at ?? performance.now() }
        throw new Error('the model does not allow this history')
      }
    })
    if (counts.operations >= reported + REPORT_EVERY) {
      reported = counts.operations
      console.log(`${reported} operations`)
    }
    const { counterexample } = await fc.check(property, {
      seed: next,
      numRuns: 1,
      unbiased: true,
      endOnFailure: shrinkSeconds === 0
    })
    if (failure)
      return {
        counts,
        failure: { seed: next, counts: failure.counts, found: failure.found, batch: counterexample?.[0] }
      }
  }
  return { counts, failure: undefined }
}
