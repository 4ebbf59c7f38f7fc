import {
  ConfigurationError,
  type Database,
  findingsOfUnreadable,
  readPackageVersion,
  withTimeLimit
} from '@valetkey/service-kit'
import type { Config } from '../config.js'
import { examineService } from '../operator/doctor/examine.js'
import type { Examination } from '../operator/start-page/describe-overview.js'
import { readPostgresVersion } from '../storage/postgres/postgres-version.js'
import type { Redis } from '../storage/redis/redis.js'
import { readRedisState, redisServers } from '../storage/redis/redis-state.js'

/** What `doctor` reads from the environment, and a process at its start. */
export type ExaminationFacts = Omit<Parameters<typeof examineService>[1], 'now'>

type Examined = {
  database: Database
  redis: Redis
  /** Undefined if users register no apps. */
  countWaitingApps: (() => Promise<number>) | undefined
  facts: ExaminationFacts
}

// The file is in the folder above `dist`, both in a checkout and in an image.
const PACKAGE_FILE = new URL('../../package.json', import.meta.url)

const RESPONSE_LIMIT_MS = 2_000

/** Returns for the start page what `doctor` finds, with the settings of this process, versions, and the approval queue. */
export async function examineProcess(
  config: Config,
  { database, redis, countWaitingApps, facts }: Examined
): Promise<Examination> {
  const [findings, postgres, redisState, waitingApps] = await Promise.all([
    examineService(config, { ...facts, now: new Date() }).catch(findingsOfFailure),
    resultOf(() => readPostgresVersion(database)),
    // The state of a cluster is that of one server.
    resultOf(() => readRedisState(redisServers(redis)[0]?.server ?? redis)),
    countWaitingApps && resultOf(countWaitingApps)
  ])
  return {
    findings,
    versions: {
      valetkey: readPackageVersion(PACKAGE_FILE),
      node: process.versions.node,
      postgres: postgres ?? 'unknown',
      redis: redisState?.version || 'unknown'
    },
    queue: countWaitingApps === undefined ? 'off' : (waitingApps ?? 'unknown')
  }
}

/** A file of the settings may have changed since the start. */
function findingsOfFailure(error: unknown): Examination['findings'] {
  if (error instanceof ConfigurationError) return { service: findingsOfUnreadable(error), records: [] }
  throw error
}

/** @returns undefined if the store does not respond in time; the findings say why */
async function resultOf<Result>(read: () => Promise<Result>): Promise<Result | undefined> {
  return withTimeLimit(RESPONSE_LIMIT_MS, read(), () => undefined).catch(() => undefined)
}
