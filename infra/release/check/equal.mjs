/** @throws Error that names both values if they differ */
export function equal(what, actual, expected) {
  if (actual !== expected) throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`)
}
