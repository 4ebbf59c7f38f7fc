import path from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  ConfigurationError,
  connectPostgres,
  type Database,
  type Environment,
  examinePostgres,
  type Finding,
  fatal,
  fileChangedAt,
  findingsOfUnreadable,
  isProduction
} from '@valetkey/service-kit'
import { type Config, readConfig } from '../../config.js'
import type { Feature } from '../../feature.js'
import { loadBranding } from '../../http/branding.js'
import { type PageFiles, readPageFiles } from '../../http/page-files.js'
import { readSignInAddresses } from '../../storage/postgres/recent-addresses.js'
import { readApiState, readClientStates, readCredentialStates } from '../../storage/postgres/registry-state.js'
import { isEmulated } from '../../storage/redis/emulated-redis.js'
import { evaluateApis } from './evaluate-apis.js'
import { evaluateClients } from './evaluate-clients.js'
import { evaluateCredentials } from './evaluate-credentials.js'
import { evaluateSettings } from './evaluate-settings.js'
import { evaluateSignInAddresses } from './evaluate-sign-in-addresses.js'
import { examineRedis } from './examine-redis.js'

const MIGRATIONS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../migrations')

/** Checks settings, Postgres, Redis and registered records; changes nothing. */
export async function examine(
  environment: Environment,
  features: readonly Feature[],
  now = new Date()
): Promise<readonly Finding[]> {
  try {
    const config = readConfig(environment)
    loadBranding(config)
    const cookieKeysChangedAt = fileChangedAt(environment, 'COOKIE_KEYS')
    const { service, records } = await examineService(config, {
      cookieKeysChangedAt,
      pages: readPageFiles(config.pagesDir, features),
      features,
      now
    })
    return [...service, ...records]
  } catch (error) {
    if (error instanceof ConfigurationError) return findingsOfUnreadable(error)
    throw error
  }
}

/** Findings about records name clients, credentials and addresses; findings about the service do not. */
export type Findings = { service: readonly Finding[]; records: readonly Finding[] }

/**
 * Checks with settings that have been read.
 * @throws {ConfigurationError} if a file of the settings cannot be read
 */
export async function examineService(
  config: Config,
  options: {
    cookieKeysChangedAt?: Date | undefined
    now: Date
    pages: PageFiles
    features: readonly Pick<Feature, 'examineSettings' | 'examineConnections' | 'examineRecords'>[]
  }
): Promise<Findings> {
  const { now, pages, features } = options
  // Outside the list of promises, so that a wrong setting throws before the other checks begin.
  const connections = features.map((feature) => feature.examineConnections?.(config) ?? [])
  const inProduction = isProduction(config.issuer)
  const [ofFeatures, postgres, redis, ofConnections] = await Promise.all([
    Promise.all(features.map(async (feature) => feature.examineSettings?.(config, { pages }) ?? [])),
    examinePostgres(config.databaseUrl, {
      migrations: MIGRATIONS,
      isProduction: inProduction,
      listens: true,
      plans: 'kept by index',
      direct: { setting: 'DATABASE_DIRECT_URL', url: config.databaseDirectUrl }
    }),
    // The emulation lives in the process of the service, so nothing else can examine it.
    isEmulated(config.redisUrl) ? [] : examineRedis(config),
    Promise.all(connections)
  ])
  const isUnreachable = postgres.some(({ check, severity }) => check === 'postgres' && severity === 'fatal')
  return {
    service: [
      ...evaluateSettings(config, options),
      ...ofFeatures.flat(),
      ...postgres,
      ...redis,
      ...ofConnections.flat()
    ],
    records: isUnreachable ? [] : await examineRegistry(config, features, inProduction, now)
  }
}

/** Findings about registered records; a list that cannot be read is a finding, too. */
async function examineRegistry(
  config: Config,
  features: readonly Pick<Feature, 'examineRecords'>[],
  inProduction: boolean,
  now: Date
): Promise<readonly Finding[]> {
  const { databaseUrl, databaseDirectUrl, resourceUrl, trustedProxies } = config
  const database = connectPostgres(databaseUrl, { connections: 1, pooled: databaseDirectUrl !== undefined })
  try {
    return [
      ...(await evaluated('clients', async () => {
        return evaluateClients(await readClientStates(database, now), { isProduction: inProduction, now })
      })),
      ...(await evaluated('credentials', async () => evaluateCredentials(await readCredentialStates(database), now))),
      ...(await evaluated('APIs', async () => evaluateApis(await readApiState(database), resourceUrl))),
      ...(await examineRecordsOf(features, config, database)),
      ...(await evaluated('sign-in addresses', async () =>
        trustedProxies?.length ? [evaluateSignInAddresses(await readSignInAddresses(database), trustedProxies)] : []
      ))
    ]
  } finally {
    await database.close()
  }
}

async function examineRecordsOf(
  features: readonly Pick<Feature, 'examineRecords'>[],
  config: Config,
  database: Database
): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const { examineRecords } of features) {
    if (examineRecords === undefined) continue
    const { check, examine: examineThem } = examineRecords
    findings.push(...(await evaluated(check, () => examineThem(config, database))))
  }
  return findings
}

async function evaluated(check: string, evaluate: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await evaluate()
  } catch (error) {
    return [
      fatal(check, {
        what: `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
        why: 'They were not checked, and the service may not be able to read them either.',
        fix: 'migrate the database, and grant the role its rights'
      })
    ]
  }
}
