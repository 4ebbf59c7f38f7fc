import { describe, expect, test } from '@jest/globals'
import { problemOfRedisUrl, readRedisUrl } from '../../src/redis/redis-url.js'

const one = (host: string, port: number) => [{ host, port }]
const least = {
  sentinelName: undefined,
  isCluster: false,
  username: undefined,
  password: undefined,
  sentinelUsername: undefined,
  sentinelPassword: undefined,
  database: 0,
  tls: false
}

test.each([
  ['redis://cache', { hosts: one('cache', 6379) }],
  ['redis://:p%40ss@cache:6380/3', { hosts: one('cache', 6380), password: 'p@ss', database: 3 }],
  [
    'rediss://valetkey:pa:ss@[::1]:6379/',
    { hosts: one('::1', 6379), username: 'valetkey', password: 'pa:ss', tls: true }
  ],
  [
    'redis+sentinel://user:secret@one:26380,other/mymaster/2?sentinelUsername=watch&sentinelPassword=w%2Bord',
    {
      hosts: [...one('one', 26380), ...one('other', 26379)],
      sentinelName: 'mymaster',
      username: 'user',
      password: 'secret',
      sentinelUsername: 'watch',
      sentinelPassword: 'w+ord',
      database: 2
    }
  ],
  [
    'redis+cluster://user:secret@one,[::1]:7001',
    { hosts: [...one('one', 6379), ...one('::1', 7001)], isCluster: true, username: 'user', password: 'secret' }
  ],
  ['rediss+cluster://one/0', { hosts: one('one', 6379), isCluster: true, tls: true }],
  ['rediss+sentinel://one/main', { hosts: one('one', 26379), sentinelName: 'main', tls: true }]
])('%s', (url, expected) => {
  expect(readRedisUrl(url)).toEqual({ ...least, ...expected })
})

describe('an invalid URL is a problem, without its secrets in the message', () => {
  test.each([
    'http://:hush@cache',
    'cache:6379',
    'redis://',
    'redis://:hush@one,other',
    'redis://:hush@cache/zero',
    'redis://:hush@cache/0/1',
    'redis://:hush@cache:99999',
    'redis://:hush@cache?sentinelPassword=hush',
    'redis://:hu%sh@cache',
    'redis+cluster://:hush@one,other/1',
    'redis+cluster://:hush@one/mymaster',
    'redis+cluster://:hush@one?sentinelPassword=hush',
    'redis+sentinel://:hush@one,other',
    'redis+sentinel://:hush@one,/mymaster',
    'redis+sentinel://:hush@one/mymaster/0?password=hush',
    'redis://hush@cache',
    'redis+sentinel://one/mymaster?sentinelUsername=hush',
    'redis+sentinel://one/mymaster?sentinelPassword=hush&sentinelPassword=hush'
  ])('%s', (url) => {
    const problem = problemOfRedisUrl(url)
    expect(problem).toMatch(/\w/)
    expect(problem).not.toContain('hush')
  })
})

test.each(['redis://:12#hush@cache', 'redis://:12/hush@cache', 'rediss://:12?hush@cache', 'redis://:hush@cache#hush'])(
  '%s: the problem says which characters to encode',
  (url) => {
    expect(problemOfRedisUrl(url)).toMatch(/# as %23, \/ as %2F, \? as %3F/)
    expect(problemOfRedisUrl(url)).not.toContain('hush')
  }
)
