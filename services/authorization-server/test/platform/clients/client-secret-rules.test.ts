import { randomBytes } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { hashToken, isWellFormed } from '@valetkey/oauth-protocol'
import {
  createClientSecret,
  findDeletableSecret,
  mayAddSecret
} from '../../../src/platform/clients/client-secret-rules.js'
import type { ClientSecret } from '../../../src/storage/postgres/client-secrets.js'

const secret = (secretId: string, live: boolean): ClientSecret => ({
  secretId,
  createdAt: new Date(0),
  expiresAt: undefined,
  lastUsedAt: undefined,
  live
})
const LIVE = secret('live', true)
const OTHER = secret('other', true)
const ENDED = secret('ended', false)

test('client secret: a new one is well-formed, and has its hash', () => {
  const { clientSecret, hash } = createClientSecret(randomBytes)
  expect(isWellFormed('clientSecret', clientSecret)).toBe(true)
  expect(hash).toEqual(hashToken(clientSecret))
})

test.each([
  { name: 'none', secrets: [], may: true },
  { name: 'one live', secrets: [LIVE], may: true },
  { name: 'one live and one ended', secrets: [ENDED, LIVE], may: true },
  { name: 'two live', secrets: [LIVE, OTHER], may: false }
])('client secret: with $name, another may be added: $may', ({ secrets, may }) => {
  expect(mayAddSecret(secrets)).toBe(may)
})

test.each([
  { name: 'one of two live secrets', secrets: [LIVE, OTHER], id: 'live', kind: 'deletable' },
  { name: 'an ended secret beside the only live one', secrets: [ENDED, LIVE], id: 'ended', kind: 'deletable' },
  { name: 'the only live secret', secrets: [ENDED, LIVE], id: 'live', kind: 'only_live_secret' },
  { name: 'an unknown secret', secrets: [LIVE], id: 'unknown', kind: 'unknown' }
])('client secret: deleting $name is $kind', ({ secrets, id, kind }) => {
  expect(findDeletableSecret(secrets, id).kind).toBe(kind)
})
