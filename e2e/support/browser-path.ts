/**
 * Where a browser is installed. `npm test` sets the variable; where it finds no such browser it leaves the files of tests
 * that need one out. Whoever starts Jest alone is told at once, before a stack is started in vain.
 */
export function browserPath(name: string, variable: 'TEST_CHROMIUM' | 'TEST_FIREFOX'): string {
  const path = process.env[variable]
  if (path) return path
  throw new Error(`These tests need ${name}: install it and run "npm test", or name it in ${variable}.`)
}
