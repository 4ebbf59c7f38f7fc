import { expect, test } from '@jest/globals'
import { problemOfRedis } from '../../src/redis/redis-problem.js'

const reply = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })
const failure = (message: string, code?: string) => Object.assign(new Error(message), { code })

test.each<[string, Error, string, boolean]>([
  ['wrong password', reply('WRONGPASS invalid username-password pair or user is disabled.'), 'refuses the pass', true],
  ['no password', reply('NOAUTH HELLO must be called with the client already authenticated'), 'refuses the pass', true],
  ['a right', reply("NOPERM User a has no permissions to run the 'getex' command"), 'does not permit', true],
  [
    'a right within a script',
    reply('ERR The user executing the script can’t run this: NOPERM'),
    'does not permit',
    true
  ],
  ['a Cluster', reply('MOVED 3999 127.0.0.1:6381'), 'is a Redis Cluster', true],
  ['a Cluster that moves', reply('ASK 3999 127.0.0.1:6381'), 'is a Redis Cluster', true],
  ['a Cluster, two keys', reply("CROSSSLOT Keys in request don't hash to the same slot"), 'is a Redis Cluster', true],
  ['one server as a Cluster', reply('ERR This instance has cluster support disabled'), 'is one server', true],
  ['a Cluster without some nodes', reply('CLUSTERDOWN Hash slot not served'), 'is a Cluster that cannot serve', false],
  [
    'no node of a Cluster',
    Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: reply('WRONGPASS invalid') }),
    'refuses the pass',
    true
  ],
  ['a replica', reply("READONLY You can't write against a read only replica."), 'is a replica', false],
  ['a replica within a script', reply('ERR Error running script: -READONLY You can’t write'), 'is a replica', false],
  ['memory', reply("OOM command not allowed when used memory > 'maxmemory'."), 'is full', false],
  ['an old version', reply("ERR unknown command 'GETEX'"), 'lacks a command', true],
  ['loading', reply('LOADING Redis is loading the dataset in memory'), 'is loading', false],
  ['HTTP', failure('Protocol error, got "H" as reply type byte'), 'responds, but not as a usable Redis', true],
  ['no TLS there', failure('wrong version number', 'EPROTO'), 'TLS fails (EPROTO)', true],
  ['a certificate', failure('self-signed', 'DEPTH_ZERO_SELF_SIGNED_CERT'), 'TLS fails (DEPTH_ZERO', true],
  ['an expired one', failure('expired', 'CERT_HAS_EXPIRED'), 'TLS fails (CERT_HAS_EXPIRED)', true],
  [
    'unreachable',
    failure('connect ECONNREFUSED 10.0.0.1:6379', 'ECONNREFUSED'),
    'cannot be reached (ECONNREFUSED)',
    false
  ],
  ['silence', failure('Command timed out'), 'does not respond in time', false],
  ['a connection that ended', failure('Connection is closed.'), 'cannot be reached', false]
])('%s: %p', (_name, error, reason, isSetting) => {
  const problem = problemOfRedis(error)
  expect(problem?.reason).toMatch(new RegExp(`^${reason.replaceAll('(', '\\(').replaceAll(')', '\\)')}`))
  expect(problem?.isSetting ?? false).toBe(isSetting)
  expect(JSON.stringify(problem)).not.toMatch(/10\.0\.0\.1|127\.0\.0\.1/)
})

test.each(['NOSCRIPT No matching script.', 'WRONGTYPE Operation against a key', 'ERR syntax error'])(
  'an answer to the command alone says nothing about the server: %s',
  (message) => {
    expect(problemOfRedis(reply(message))).toBeUndefined()
  }
)
