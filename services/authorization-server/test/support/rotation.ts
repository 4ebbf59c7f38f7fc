import { expiryBucket, type TokenHash } from '@valetkey/oauth-protocol'
import type { Rotation } from '../../src/storage/postgres/refresh-tokens.js'
import { newHash } from './stored-grant.js'

export const NOW = new Date('2026-11-21T12:00:00.000Z')
export const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
export const PACE = { burst: 30, intervalSeconds: 60 }
export const RESPONSE = Buffer.from([0, 1, 255])

/** A rotation of this token as in the token endpoint. */
export function rotationOf(hash: TokenHash, change: Partial<Rotation> = {}): Rotation {
  return {
    hash,
    successor: { hash: newHash(), expiresAt: after(1010) },
    accessToken: { hash: newHash(), bucket: expiryBucket(after(110)), scope: ['files.read'], expiresAt: after(110) },
    retry: { until: after(40), response: RESPONSE },
    retryScope: 'files.read',
    pace: PACE,
    ...change
  }
}
