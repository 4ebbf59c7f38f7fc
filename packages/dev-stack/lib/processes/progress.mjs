// Progress output: one line per step. On a terminal the current step is shown while it runs.

/** @typedef {ReturnType<typeof createProgress>} Progress */

/** @param {NodeJS.WriteStream} [output] */
export function createProgress(output = process.stdout) {
  const live = output.isTTY === true

  /**
   * Runs a step and marks it as done. The step may return a remark for its line.
   * @template {object | void} Result
   * @param {string} title
   * @param {() => Promise<Result>} work
   */
  async function step(title, work) {
    if (live) output.write(`… ${title}`)
    try {
      const result = await work()
      const remark = result && 'remark' in result ? result.remark : undefined
      output.write(`${live ? '\r\u001b[K' : ''}✓ ${title}${remark === undefined ? '' : `: ${remark}`}\n`)
      return result
    } catch (error) {
      if (live) output.write('\r\u001b[K')
      throw error
    }
  }

  /** @param {string} text */
  const say = (text) => output.write(`${text}\n`)
  return { step, say }
}
