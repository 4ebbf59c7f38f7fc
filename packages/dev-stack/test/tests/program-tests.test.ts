import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { testsWithoutProgram } = await library('tests/program-tests')

const names = ['chromium', 'faketime', 'firefox', 'glewlwyd', 'languages', 'openssl', 'pgbouncer', 'promtool', 'redis']
const machine = Object.fromEntries(names.map((name) => [name, `/usr/bin/${name}`]))

test.each([
  { file: '/e2e/redis-tls.openssl.redis.test.ts', programs: ['openssl', 'redis'] },
  { file: '/e2e/pooler.pgbouncer.redis.test.ts', programs: ['pgbouncer', 'redis'] },
  { file: '/e2e/pages.chromium.test.ts', programs: ['chromium'] },
  { file: '/services/authorization-server/test/storage/redis/redis.test.ts', programs: [] }
])('$file is left out if one of these is missing, and only then: $programs', ({ file, programs }) => {
  const needed = names.filter((name) =>
    testsWithoutProgram({ ...machine, [name]: undefined }).some(({ files }: { files: RegExp }) => files.test(file))
  )
  expect(needed.sort()).toEqual(programs)
})

test('a machine without any of these programs: a reason for each', () => {
  expect(testsWithoutProgram({})).toHaveLength(names.length)
})
