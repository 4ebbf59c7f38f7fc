import {
  type Finding,
  isProduction,
  judgeInnerUrl,
  judgeKeys,
  judgePostgresUrl,
  judgeProxies,
  judgePublicUrl,
  ok,
  warning
} from '@valetkey/service-kit'
import type { Config } from '../../config.js'

const LEAST_SECRET = 32

/** Checks the settings alone. The service refuses to start with a fatal finding. */
export function judgeSettings(
  config: Config,
  { pageTokenKeysChangedAt, now }: { pageTokenKeysChangedAt?: Date | undefined; now: Date }
): readonly Finding[] {
  const { issuer, resourceUrl, pageTokenKeys, introspection } = config
  const keys = { isProduction: isProduction(issuer), changedAt: pageTokenKeysChangedAt, now }
  return [
    judgePublicUrl('ISSUER', issuer),
    judgePublicUrl('RESOURCE_URL', resourceUrl),
    judgeProxies(config.trustedProxies, { setting: 'RESOURCE_URL', url: resourceUrl }),
    ...judgeKeys('PAGE_TOKEN_KEYS', pageTokenKeys, keys),
    ...judgePostgresUrl('RESOURCE_DATABASE_URL', config.databaseUrl),
    judgeWebUrl('INTROSPECTION_URL', introspection.url),
    ...(introspection.cache.revocationsUrl ? [judgeWebUrl('REVOCATIONS_URL', introspection.cache.revocationsUrl)] : []),
    judgeSecret(introspection.clientSecret)
  ]
}

function judgeWebUrl(check: string, url: string): Finding {
  const { hostname, protocol } = new URL(url)
  return judgeInnerUrl(check, { host: hostname, tls: protocol === 'https:' })
}

function judgeSecret(secret: string): Finding {
  if (secret.length >= LEAST_SECRET) return ok('INTROSPECTION_CLIENT_SECRET', 'is long enough')
  const what = `has ${secret.length} characters`
  const why = 'An attacker who guesses it can introspect every token of this audience.'
  return warning('INTROSPECTION_CLIENT_SECRET', {
    what,
    why,
    fix: 'use the secret that the authorization server created'
  })
}
