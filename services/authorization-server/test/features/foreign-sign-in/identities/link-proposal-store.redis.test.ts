import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createLinkProposalStore } from '../../../../src/features/foreign-sign-in/identities/link-proposal-store.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { newRecordAuthentication } from '../../../support/record-authentication.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

const randomId = () => randomBytes(32).toString('base64url')

test('many identities that wait to be linked: only the last ten', async () => {
  const { redis } = server
  const proposals = createLinkProposalStore(redis, newRecordAuthentication().records)
  const proposal = {
    identity: { issuer: 'https://id.example', subject: 's'.repeat(255) },
    purpose: { kind: 'link', userId: 'a-user', sessionHash: randomId() },
    userId: 'a-user',
    browserHash: randomId(),
    label: 'Example',
    displayName: 'n'.repeat(100),
    way: { kind: 'handoff', issuer: 'https://id.example', subject: 's'.repeat(255) },
    proposedAt: Date.now(),
    authenticatedAt: Date.now(),
    maxSeconds: undefined
  } as const
  for (let count = 0; count < 25; count++) await proposals.add(`proposal-${count}`, proposal)
  const keys = await redis.keys('*')
  expect(keys.filter((key) => key.startsWith('vk:proposal:'))).toHaveLength(10)
  for (const key of keys) {
    const [bytes, ttl] = [Number(await redis.memory('USAGE', key)), await redis.ttl(key)]
    expect([bytes < 2_000, ttl > 0, ttl <= 600]).toEqual([true, true, true])
  }
})
