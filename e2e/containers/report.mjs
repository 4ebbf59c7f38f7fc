// Prints one line for each check, and the totals.
export function createReport() {
  let passed = 0
  let failed = 0

  return {
    /** A check that throws has failed; later checks still run. */
    async check(name, work) {
      try {
        const result = await work()
        passed += 1
        console.log(`ok      ${name}`)
        return result
      } catch (error) {
        failed += 1
        console.log(`FAILED  ${name}\n        ${String(error.message).replaceAll('\n', '\n        ')}`)
        return undefined
      }
    },

    hasFailed: () => failed > 0,
    summary: () => `${passed} passed, ${failed} failed`,
    exitCode: () => (failed === 0 && passed > 0 ? 0 : 1)
  }
}
