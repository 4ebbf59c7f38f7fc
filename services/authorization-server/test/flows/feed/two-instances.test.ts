import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type Credentials, startTestServer, type TestServer } from '../../support/authorization-server.js'
import { countOf, epochOf, sendNonce, startChannel, subscribe } from '../../support/event-stream.js'
import { bodyCredentials, PASSWORD, post } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { introspectionOf, obtainTokens } from '../../support/tokens.js'

const NONCE = 'a-nonce-of-a-guard'

let a: TestServer
let b: TestServer
let resourceServer: Credentials

beforeAll(async () => {
  a = await startTestServer()
  b = await startInstance(a)
  resourceServer = await a.createResourceServer()
  await Promise.all([startChannel(a), startChannel(b)])
})
afterAll(async () => {
  await Promise.all([a.deps.channel.close(), b.deps.channel.close()])
  await b.close()
  await a.close()
})

test('a revocation at one instance is sent by both, each with its own epoch', async () => {
  await a.createUser('alice', PASSWORD)
  const client = await a.createClient()
  const streams = [await subscribe(a, resourceServer), await subscribe(b, resourceServer)]
  const opened = await Promise.all(streams.map((stream) => stream.next()))
  const { access_token } = await obtainTokens(a, client)
  const known = await introspectionOf(a, resourceServer, access_token)
  await post(a, '/oauth/revoke', { token: access_token, ...bodyCredentials(client) })
  const revoked = await Promise.all(streams.map((stream) => stream.next()))
  expect(revoked.map(({ data }) => data)).toEqual(Array(2).fill({ jti: 'jti' in known ? known.jti : '' }))
  expect(revoked.map(epochOf)).toEqual(opened.map(epochOf))
  expect(new Set(opened.map(epochOf)).size).toBe(2)
})

test('a nonce sent to the other instance returns on its own stream only', async () => {
  const [mine, others] = [await subscribe(a, resourceServer), await subscribe(b, resourceServer)]
  const [opened, openedThere] = [await mine.next(), await others.next()]
  expect((await sendNonce(b, resourceServer, opened.data.stream ?? '', NONCE)).statusCode).toBe(204)
  expect(await mine.next()).toEqual({ event: 'proof', id: opened.id, data: { nonce: NONCE } })
  await sendNonce(a, resourceServer, openedThere.data.stream ?? '', `${NONCE}-2`)
  expect(await others.next()).toMatchObject({ data: { nonce: `${NONCE}-2` } })
})

test('50 revocations at both instances during 50 nonces: no gap, and each proof follows the earlier revocations', async () => {
  const mine = await subscribe(a, resourceServer)
  const opened = await mine.next()
  const rounds = Array.from({ length: 50 }, (_, round) => round)
  await Promise.all(
    rounds.map(async (round) => {
      const text = "select pg_notify('valetkey_revocations', json_build_object('sub', $1::text)::text)"
      await a.database.query({ name: 'test_announce', text, values: [`user-${round}`] })
      await sendNonce(round % 2 ? a : b, resourceServer, opened.data.stream ?? '', `nonce-of-round-${round}-padded`)
    })
  )
  const ended = new Set<string>()
  let last = countOf(opened)
  for (let proofs = 0; proofs < 50; ) {
    const event = await mine.next()
    if (event.event === 'revoked') {
      expect(countOf(event)).toBe(last + 1)
      last = countOf(event)
      ended.add(event.data.sub ?? '')
    } else {
      expect(countOf(event)).toBe(last)
      expect(ended).toContain(`user-${/^nonce-of-round-(\d+)/.exec(event.data.nonce ?? '')?.[1]}`)
      proofs += 1
    }
  }
  expect(ended.size).toBe(50)
})
