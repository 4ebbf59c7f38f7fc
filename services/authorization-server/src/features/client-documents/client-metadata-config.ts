import { type environmentReader, isLoopback } from '@valetkey/service-kit'
import { type ClientIdPattern, type ClientIdPolicy, readClientIdPattern } from './client-id-policy.js'

type Reader = ReturnType<typeof environmentReader>

const DAY = 86_400

/** The settings of clients that no operator registered. */
export function readClientMetadataConfig(read: Reader, issuer: string) {
  const mode = read.oneOf('CLIENT_ID_METADATA', ['off', 'listed', 'open'], 'off')
  const allowsLoopback = read.oneOf('CLIENT_ID_METADATA_ALLOW_LOOPBACK', ['true', 'false'], 'false') === 'true'
  read.require(
    !allowsLoopback || !URL.canParse(issuer) || isLoopback(new URL(issuer).hostname),
    'CLIENT_ID_METADATA_ALLOW_LOOPBACK',
    'is true, but ISSUER is not on the loopback interface: users could make the service connect to programs on its machine'
  )
  const patternsIn = (text: string, name: string): readonly ClientIdPattern[] => {
    const patterns = itemsOf(text).map((item) => readClientIdPattern(item, { allowsLoopback }))
    for (const pattern of patterns) if (typeof pattern === 'string') read.require(false, name, pattern)
    return patterns.filter((pattern) => typeof pattern !== 'string')
  }
  const policy: ClientIdPolicy = {
    mode,
    allow: patternsIn(read.optionalText('CLIENT_ID_METADATA_ALLOW', ''), 'CLIENT_ID_METADATA_ALLOW'),
    deny: patternsIn(read.optionalText('CLIENT_ID_METADATA_DENY', ''), 'CLIENT_ID_METADATA_DENY'),
    allowsLoopback
  }
  read.require(
    mode !== 'listed' || policy.allow.length > 0,
    'CLIENT_ID_METADATA_ALLOW',
    'is missing: CLIENT_ID_METADATA is listed, and no client would be accepted'
  )
  return {
    policy,
    /** Fetches of one process. */
    maxPerMinute: read.integer('CLIENT_ID_METADATA_MAX_PER_MINUTE', 120, { min: 1, max: 6_000 }),
    /** Seconds. */
    refreshTokenMaxTtl: read.integer('DISCOVERED_REFRESH_TOKEN_MAX_TTL', 14 * DAY, { min: 1, max: 3650 * DAY })
  }
}

function itemsOf(list: string): readonly string[] {
  return list.split(/[\s,]+/).filter((item) => item !== '')
}
