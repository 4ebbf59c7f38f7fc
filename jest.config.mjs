import { availableParallelism } from 'node:os'

/** One configuration for every package; `npm test` brings Postgres and Redis and runs it. */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  roots: ['<rootDir>/packages', '<rootDir>/services', '<rootDir>/examples', '<rootDir>/e2e', '<rootDir>/bench'],
  testMatch: ['<rootDir>/*/*/test/**/*.test.ts', '<rootDir>/{e2e,bench}/**/*.test.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' }
    ]
  },
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  testSequencer: './packages/dev-stack/lib/tests/sequencer.mjs',
  // More than processors, because most suites also wait: for Postgres, Redis, processes and browsers.
  maxWorkers: availableParallelism() + 2,
  // Modules are never given back. A worker that has grown is replaced, before it stands still to collect its garbage.
  workerIdleMemoryLimit: '1GB',
  // Only ends a hang. A test waits for a condition; a slow machine makes it slower, not red.
  testTimeout: 600_000
}
