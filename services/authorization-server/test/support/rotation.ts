import type { TokenDigest } from '@valetkey/oauth-protocol'
import type { Rotation } from '../../src/storage/postgres/refresh-tokens.js'
import { newDigest } from './stored-grant.js'

export const NOW = new Date('2026-11-21T12:00:00.000Z')
export const after = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
export const PACE = { burst: 30, intervalSeconds: 60 }
export const ANSWER = Buffer.from([0, 1, 255])

/** A rotation of this token as the token endpoint asks for it. */
export function rotationOf(digest: TokenDigest, change: Partial<Rotation> = {}): Rotation {
  return {
    digest,
    successor: { digest: newDigest(), expiresAt: after(1010) },
    accessToken: { digest: newDigest(), scope: ['files.read'], expiresAt: after(110) },
    retry: { until: after(40), answer: ANSWER },
    retryScope: 'files.read',
    pace: PACE,
    ...change
  }
}
