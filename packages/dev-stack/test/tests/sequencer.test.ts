import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { inTurn } = await library('tests/sequencer')

const suites = (...paths: string[]) => paths.map((path) => ({ path }))

test.each([
  {
    name: 'suites that wait and suites that compute: in turn, each kind in the given order',
    given: [
      '/v/e2e/a.test.ts',
      '/v/e2e/b.test.ts',
      '/v/packages/c.test.ts',
      '/v/packages/d.test.ts',
      '/v/packages/e.test.ts'
    ],
    expected: [
      '/v/e2e/a.test.ts',
      '/v/packages/c.test.ts',
      '/v/e2e/b.test.ts',
      '/v/packages/d.test.ts',
      '/v/packages/e.test.ts'
    ]
  },
  {
    name: 'suites that are known to be long: before other suites that wait',
    given: ['/v/e2e/a.test.ts', '/v/e2e/default-stack.chromium.test.ts', '/v/e2e/revocation-model.test.ts'],
    expected: ['/v/e2e/default-stack.chromium.test.ts', '/v/e2e/revocation-model.test.ts', '/v/e2e/a.test.ts']
  }
])('sequencer: $name', ({ given, expected }) => {
  expect(inTurn(suites(...given))).toEqual(suites(...expected))
})
