import { availableParallelism } from 'node:os'

/** One configuration for every package; `npm test` brings Postgres and Redis and runs it. */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  roots: ['<rootDir>/packages', '<rootDir>/services', '<rootDir>/examples', '<rootDir>/e2e'],
  testMatch: ['<rootDir>/*/*/test/**/*.test.ts', '<rootDir>/e2e/**/*.test.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' }
    ]
  },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  // Two at least: modules are never given back, so one process for all suites would grow to gigabytes, and stand still for
  // seconds while it collects its garbage. A worker that has grown is replaced by a new one.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  workerIdleMemoryLimit: '600MB',
  // Only ends a hang. A test waits for a condition; a slow machine makes it slower, not red.
  testTimeout: 180_000
}
