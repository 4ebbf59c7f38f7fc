import { type Finding, fatal, judgeClock, ok, warning } from '@valetkey/service-kit'
import type { RedisState } from '../storage/redis-state.js'

/** @param offsetMs by how much its clock is ahead of ours */
export function judgeRedis(state: RedisState, offsetMs: number): readonly Finding[] {
  return [
    judgeVersion(state.version),
    judgeClock('redis clock', offsetMs),
    judgeEviction(state),
    judgePersistence(state)
  ]
}

function judgeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 6 || (major === 6 && minor >= 2)) return ok('redis', `answers, version ${version}`)
  const why = 'Commands that the service uses are missing (GETEX), and requests fail.'
  return fatal('redis', { what: `is version ${version}`, why, mend: 'upgrade it to 6.2 or newer' })
}

function judgeEviction({ evictionPolicy, maxMemory }: RedisState): Finding {
  if (evictionPolicy === 'noeviction') return ok('redis eviction', 'evicts nothing')
  const complaint = {
    what: `maxmemory-policy is ${evictionPolicy}`,
    why: 'When it is full it forgets sessions, codes and the counters of failed attempts without a word.',
    mend: 'set maxmemory-policy to noeviction, and watch its memory'
  }
  return maxMemory > 0 ? fatal('redis eviction', complaint) : warning('redis eviction', complaint)
}

function judgePersistence({ appendOnly, snapshots }: RedisState): Finding {
  if (appendOnly) return ok('redis persistence', 'appends every second or better')
  if (snapshots === undefined) return ok('redis persistence', 'cannot be told with the rights of this user')
  return warning('redis persistence', {
    what: snapshots ? 'writes snapshots only' : 'writes nothing to disk',
    why: 'After a restart people sign in again, and attempts are counted from zero.',
    mend: 'set appendonly to yes'
  })
}
