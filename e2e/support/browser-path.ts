/**
 * The path of a browser. `npm test` sets the variable, and skips the test files that need a missing browser. If Jest is
 * started without `npm test`, this fails before a stack is started.
 */
export function browserPath(name: string, variable: 'TEST_CHROMIUM' | 'TEST_FIREFOX'): string {
  const path = process.env[variable]
  if (path) return path
  throw new Error(`These tests need ${name}: install it and run "npm test", or name it in ${variable}.`)
}
