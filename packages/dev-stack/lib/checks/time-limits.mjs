// Finds limits in tests that a slow machine does not keep. Node built-ins only.

/** Jest's limit for each test (jest.config.mjs). */
const JEST_LIMIT_MS = 180_000
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
  const limits = [...text.matchAll(/jest\.setTimeout\((\d[\d_]*)\)/g)].filter(
    ([, limit = '']) => Number(limit.replaceAll('_', '')) < JEST_LIMIT_MS
  )
  return [
    ...bounds.map(
      ({ index }) => `line ${lineAt(text, index)}: a constant bound on a measured time; wait for a condition`
    ),
    ...limits.map(({ index }) => `line ${lineAt(text, index)}: a limit below the 180 s of Jest, which only end a hang`)
  ]
}

/** @type {(text: string, index: number) => number} */
const lineAt = (text, index) => text.slice(0, index).split('\n').length
