import { expect, test } from '@jest/globals'
import { fastify } from 'fastify'
import { showDeveloperTab } from '../../../../src/features/developer-apps/owned-clients/developer-tab.js'

/** Opens a page as this user. @returns the address of the tab, and how often owners were looked up until then */
function pages(usage: { isOwner: boolean; isUsed: boolean }) {
  let lookUps = 0
  const time = { milliseconds: 0 }
  const app = fastify()
  app.decorateRequest('signedIn')
  app.decorateReply('locals')
  app.addHook('onRequest', async (request) => {
    if (request.headers.cookie !== undefined) request.signedIn = { userId: 'alice' } as typeof request.signedIn
  })
  const ownedClients = {
    async usage() {
      lookUps += 1
      return { ...usage }
    }
  }
  showDeveloperTab(app, { issuer: 'https://auth.example', ownedClients }, () => time.milliseconds)
  app.get('/', async (_request, reply) => ({ tab: reply.locals?.developerPages }))
  const open = async (headers: Record<string, string> = { cookie: 'session' }) => {
    const { tab } = (await app.inject({ url: '/', headers })).json()
    return [tab, lookUps]
  }
  return { open, time, usage }
}

const TAB = 'https://auth.example/account/developer'

test('an owner has the tab, and each page looks it up', async () => {
  const { open } = pages({ isOwner: true, isUsed: true })
  expect([await open(), await open()]).toEqual([
    [TAB, 1],
    [TAB, 2]
  ])
})

test('other users have no tab, and a signed-out user no look-up', async () => {
  const { open } = pages({ isOwner: false, isUsed: true })
  expect([await open(), await open({})]).toEqual([
    [undefined, 1],
    [undefined, 1]
  ])
})

test('while no client has an owner, one look-up in a minute', async () => {
  const { open, time, usage } = pages({ isOwner: false, isUsed: false })
  expect([await open(), await open()]).toEqual([
    [undefined, 1],
    [undefined, 1]
  ])
  usage.isOwner = true
  usage.isUsed = true
  time.milliseconds = 59_999
  expect(await open()).toEqual([undefined, 1])
  time.milliseconds = 60_000
  expect(await open()).toEqual([TAB, 2])
})
