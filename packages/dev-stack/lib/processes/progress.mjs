// Progress output: one line per step. On a terminal the current step is shown while it runs.

export function createProgress(output = process.stdout) {
  const live = output.isTTY === true

  /** Runs a step and marks it as done. The step may return a remark for its line. */
  async function step(title, work) {
    if (live) output.write(`… ${title}`)
    try {
      const { remark, ...result } = (await work()) ?? {}
      output.write(`${live ? '\r\u001b[K' : ''}✓ ${title}${remark === undefined ? '' : `: ${remark}`}\n`)
      return result
    } catch (error) {
      if (live) output.write('\r\u001b[K')
      throw error
    }
  }

  return { step, say: (text) => output.write(`${text}\n`) }
}
