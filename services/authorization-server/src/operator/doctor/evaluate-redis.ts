import { evaluateClock, type Finding, fatal, ok, warning } from '@valetkey/service-kit'
import type { RedisState } from '../../storage/redis/redis-state.js'

/** @param offsetMs clock of Redis minus clock of this process */
export function evaluateRedis(state: RedisState, offsetMs: number): readonly Finding[] {
  return [
    evaluateVersion(state.version),
    evaluateClock('redis clock', offsetMs),
    evaluateEviction(state),
    evaluatePersistence(state)
  ]
}

function evaluateVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 6 || (major === 6 && minor >= 2)) return ok('redis', `responds, version ${version}`)
  const why = 'Valetkey is not tested with it. It may lack a command that the service uses, so that requests fail.'
  return fatal('redis', { what: `is version ${version}`, why, fix: 'upgrade it to 6.2 or newer' })
}

function evaluateEviction({ evictionPolicy, maxMemory }: RedisState): Finding {
  if (evictionPolicy === 'noeviction') return ok('redis eviction', 'noeviction')
  const complaint = {
    what: `maxmemory-policy is ${evictionPolicy}`,
    why: 'When Redis is full, it silently drops codes, pending requests and counters of failed attempts.',
    fix: 'set maxmemory-policy to noeviction, and monitor its memory'
  }
  return maxMemory > 0 ? fatal('redis eviction', complaint) : warning('redis eviction', complaint)
}

function evaluatePersistence({ appendOnly, snapshots }: RedisState): Finding {
  if (appendOnly) return ok('redis persistence', 'appendonly is on')
  if (snapshots === undefined) return ok('redis persistence', 'unknown: this user may not read it')
  return warning('redis persistence', {
    what: snapshots ? 'snapshots only' : 'nothing is written to disk',
    why: 'After a restart, users repeat unfinished requests, and counts of failed attempts start from zero.',
    fix: 'set appendonly to yes'
  })
}
