// Finds limits in tests that a slow machine does not keep. Node built-ins only.

/** Of one file, or of one test or hook. All have the limit of jest.config.mjs, which only ends a hang. */
const OWN_LIMIT = /jest\.setTimeout\([\d_]+\)|^ *\}, (?:[\d_]{5,}|[A-Z][A-Z\d_]*LIMIT_MS)\)$/gm
const ELAPSED = String.raw`(?:performance|Date)\.now\(\) - `
const CONSTANT_BOUND = String.raw`\.toBeLessThan(?:OrEqual)?\((?:[\d_.]+|[A-Z][A-Z\d_]*)\)`

/**
 * @param {string} text of a test file
 * @returns {string[]} one sentence for each problem. A bound that contains a measurement of the same test is none.
 */
export function timeLimitsIn(text) {
  const names = [...text.matchAll(new RegExp(`const (\\w+) = ${ELAPSED}`, 'g'))].map(([, name]) => name)
  const durations = [`${ELAPSED}[^;\\n]*?`, ...names]
  const bounds = durations.flatMap((duration) => [
    ...text.matchAll(new RegExp(`expect\\(\\s*${duration}\\s*\\)\\s*${CONSTANT_BOUND}`, 'g'))
  ])
  const limits = [...text.matchAll(OWN_LIMIT)]
  return [
    ...bounds.map(
      ({ index }) => `line ${lineAt(text, index)}: a constant bound on a measured time; wait for a condition`
    ),
    ...limits.map(({ index }) => `line ${lineAt(text, index)}: a limit of its own, which a slow machine does not keep`)
  ]
}

/** @type {(text: string, index: number) => number} */
const lineAt = (text, index) => text.slice(0, index).split('\n').length
