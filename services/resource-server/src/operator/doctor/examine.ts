import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildIntrospector } from '@valetkey/guard'
import {
  buildLogger,
  ConfigurationError,
  type Environment,
  examinePostgres,
  type Finding,
  fatal,
  fileChangedAt,
  findingsOfUnreadable,
  isProduction,
  ok
} from '@valetkey/service-kit'
import { type Config, readConfig } from '../../config.js'
import { evaluateSettings } from './evaluate-settings.js'

const MIGRATIONS = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../migrations')

/** Checks the settings, Postgres and introspection; changes nothing. */
export async function examine(environment: Environment, now = new Date()): Promise<readonly Finding[]> {
  let config: Config
  try {
    config = readConfig(environment)
  } catch (error) {
    if (error instanceof ConfigurationError) return findingsOfUnreadable(error)
    throw error
  }
  const pageTokenKeysChangedAt = fileChangedAt(environment, 'PAGE_TOKEN_KEYS')
  const [postgres, introspection] = await Promise.all([
    examinePostgres(config.databaseUrl, {
      migrations: MIGRATIONS,
      isProduction: isProduction(config.issuer),
      listens: false,
      plans: 'kept',
      direct: { setting: 'RESOURCE_DATABASE_DIRECT_URL', url: config.databaseDirectUrl }
    }),
    examineIntrospection(config)
  ])
  return [...evaluateSettings(config, { pageTokenKeysChangedAt, now }), ...postgres, introspection]
}

async function examineIntrospection({ introspection }: Config): Promise<Finding> {
  // There is no cache, so that introspection does not wait for the revocation feed.
  const uncached = { ...introspection, cache: { seconds: 0 } }
  const introspector = buildIntrospector(uncached, buildLogger('resource-server', 'silent'))
  try {
    await introspector.introspect('doctor', 'doctor')
    return ok('introspection', 'responds and accepts our credential')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return fatal('introspection', {
      what: `fails: ${reason}`,
      why: 'Tokens cannot be checked, so every request gets 503.',
      fix: 'check INTROSPECTION_URL, INTROSPECTION_CLIENT_ID and INTROSPECTION_CLIENT_SECRET'
    })
  } finally {
    await introspector.close()
  }
}
