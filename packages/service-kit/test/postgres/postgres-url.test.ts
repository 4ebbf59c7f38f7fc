import { expect, test } from '@jest/globals'
import { postgresUrls, problemOfPostgresUrl } from '../../src/postgres/postgres-url.js'

test.each([
  ['postgres://u:p@db:5432/name', ['postgres://u:p@db:5432/name']],
  [
    'postgresql://u:p@one:5432,[::1]:5433/name?target_session_attrs=read-write&sslmode=verify-full',
    ['postgresql://u:p@one:5432/name?sslmode=verify-full', 'postgresql://u:p@[::1]:5433/name?sslmode=verify-full']
  ],
  ['postgres://db/name?target_session_attrs=primary', ['postgres://db/name']],
  ['postgres://db/name?a=b&target_session_attrs=primary', ['postgres://db/name?a=b']],
  // The driver treats all three as verify-full, and warns at each start that this will change.
  ['postgres://db/name?sslmode=require&a=b', ['postgres://db/name?sslmode=verify-full&a=b']],
  ['postgres://db/name?sslmode=verify-ca', ['postgres://db/name?sslmode=verify-full']],
  ['postgres://db/name?sslmode=no-verify', ['postgres://db/name?sslmode=no-verify']],
  ['postgres://db/name?uselibpqcompat=true&sslmode=require', ['postgres://db/name?uselibpqcompat=true&sslmode=require']]
])('%s becomes %s for the driver', (url, expected) => {
  expect(postgresUrls(url)).toEqual(expected)
  expect(problemOfPostgresUrl(url)).toBeUndefined()
})

test.each([
  ['postgres://u:hush@one,,two/name', /host that is empty/],
  ['postgres://u:hush@one:5432,two:x/name', /not a URL/],
  ['postgres://u:hush@db/name?target_session_attrs=standby', /target_session_attrs must be/],
  ['postgres://u:hush@db/name?sslmode=always', /sslmode must be one of/],
  ['postgres://u:hush@db/name?sslrootcert=/nowhere/ca.pem', /\/nowhere\/ca\.pem, named by sslrootcert, cannot be read/]
])('%s is refused, without its secrets in the message', (url, problem) => {
  expect(problemOfPostgresUrl(url)).toMatch(problem)
  expect(problemOfPostgresUrl(url)).not.toContain('hush')
})
