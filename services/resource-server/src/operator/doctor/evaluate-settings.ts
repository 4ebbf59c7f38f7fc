import {
  evaluateInnerUrl,
  evaluateKeys,
  evaluatePostgresUrl,
  evaluateProxies,
  evaluatePublicUrl,
  type Finding,
  isProduction,
  ok,
  warning
} from '@valetkey/service-kit'
import type { Config } from '../../config.js'

const LEAST_SECRET = 32

/** Checks the settings alone. The service refuses to start with a fatal finding. */
export function evaluateSettings(
  config: Config,
  { pageTokenKeysChangedAt, now }: { pageTokenKeysChangedAt?: Date | undefined; now: Date }
): readonly Finding[] {
  const { issuer, resourceUrl, pageTokenKeys, introspection } = config
  const keys = { isProduction: isProduction(issuer), changedAt: pageTokenKeysChangedAt, now }
  return [
    evaluatePublicUrl('ISSUER', issuer),
    evaluatePublicUrl('RESOURCE_URL', resourceUrl),
    evaluateProxies(config.trustedProxies, { setting: 'RESOURCE_URL', url: resourceUrl }),
    ...evaluateKeys('PAGE_TOKEN_KEYS', pageTokenKeys, keys),
    ...evaluatePostgresUrl('RESOURCE_DATABASE_URL', config.databaseUrl),
    ...(config.databaseDirectUrl === undefined
      ? []
      : evaluatePostgresUrl('RESOURCE_DATABASE_DIRECT_URL', config.databaseDirectUrl)),
    evaluateWebUrl('INTROSPECTION_URL', introspection.url),
    ...(introspection.cache.revocationsUrl
      ? [evaluateWebUrl('REVOCATIONS_URL', introspection.cache.revocationsUrl)]
      : []),
    evaluateSecret(introspection.clientSecret)
  ]
}

function evaluateWebUrl(check: string, url: string): Finding {
  const { hostname, protocol } = new URL(url)
  return evaluateInnerUrl(check, { host: hostname, tls: protocol === 'https:' })
}

function evaluateSecret(secret: string): Finding {
  if (secret.length >= LEAST_SECRET) return ok('INTROSPECTION_CLIENT_SECRET', 'is long enough')
  const what = `has ${secret.length} characters`
  const why = 'An attacker who guesses it can introspect every token of this audience.'
  return warning('INTROSPECTION_CLIENT_SECRET', {
    what,
    why,
    fix: 'use the secret that the authorization server created'
  })
}
