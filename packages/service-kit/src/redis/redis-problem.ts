import { problemOfConnection, type StoreProblem } from '../stores/store-problem.js'

const CREDENTIALS = {
  reason: 'refuses the password or the user',
  remedy: 'compare the user and password of REDIS_URL with those of the server',
  isSetting: true
}
const CLUSTER = {
  reason: 'is a Redis Cluster',
  remedy: 'begin REDIS_URL with redis+cluster:// (rediss+cluster:// for TLS)',
  isSetting: true
}
const NO_CLUSTER = {
  reason: 'is one server and no Redis Cluster',
  remedy: 'begin REDIS_URL with redis:// (rediss:// for TLS)',
  isSetting: true
}

/**
 * The problems by the error code of Redis. The patterns are not anchored, because older servers put text before the error of
 * a script.
 */
const ERRORS: readonly (readonly [RegExp, StoreProblem])[] = [
  [/\b(WRONGPASS|NOAUTH)\b|invalid (username-)?password/, CREDENTIALS],
  [
    /\bNOPERM\b|ACL failure|can't run this command or subcommand|no permission/,
    {
      reason: 'does not permit the user a command or key that is needed',
      remedy: 'grant the user the rights listed in docs/databases.md',
      isSetting: true
    }
  ],
  [/cluster support disabled/, NO_CLUSTER],
  [
    /\bCLUSTERDOWN\b|Cluster redirections|refresh slots cache/,
    { reason: 'is a Cluster that cannot serve all keys', remedy: 'see CLUSTER INFO on its nodes' }
  ],
  [/\b(MOVED|ASK|TRYAGAIN|CROSSSLOT)\b/, CLUSTER],
  [
    /\b(READONLY|MASTERDOWN)\b|against a read only/,
    { reason: 'is a replica and takes no writes', remedy: 'name the primary, or the Sentinels, in REDIS_URL' }
  ],
  [
    /\bOOM\b/,
    { reason: 'is full: maxmemory is reached', remedy: 'raise maxmemory, and set maxmemory-policy to noeviction' }
  ],
  [/\bLOADING\b/, { reason: 'is loading its data' }],
  [/\bBUSY\b/, { reason: 'is busy with a script' }],
  [
    /\bMISCONF\b/,
    { reason: 'cannot write to its disk, and so takes no writes', remedy: 'free disk space on the Redis server' }
  ],
  [/\bNOREPLICAS\b/, { reason: 'has too few replicas, and so takes no writes', remedy: 'restart its replicas' }],
  [
    /unknown (redis )?command/i,
    { reason: 'lacks a command that is needed', remedy: 'use version 6.2 or newer', isSetting: true }
  ],
  [
    /Protocol error|DENIED Redis is running in protected mode|only .*sentinel/i,
    {
      reason: 'responds, but not as a usable Redis',
      remedy: 'check host, port and TLS in REDIS_URL',
      isSetting: true
    }
  ]
]

type RedisError = { name?: string; message?: string; lastNodeError?: unknown }

/**
 * The problem of the server according to an error of a command or a connection.
 * @returns undefined if the server works and only the command was wrong
 */
export function problemOfRedis(error: unknown): StoreProblem | undefined {
  const { name, message = '', lastNodeError } = Object(error) as RedisError
  // No node of a Cluster could be used: the error of the last one says why.
  if (lastNodeError !== undefined) return problemOfRedis(lastNodeError)
  const known = ERRORS.find(([pattern]) => pattern.test(message))?.[1]
  if (known !== undefined) return known
  return name === 'ReplyError' ? undefined : problemOfConnection(error)
}
