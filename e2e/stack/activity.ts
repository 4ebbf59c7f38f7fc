import { setTimeout as wait } from 'node:timers/promises'
import { beforeAll, expect, test } from '@jest/globals'
import { createApp } from '../../packages/dev-stack/lib/client/app.mjs'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import { knownFiles } from '../support/known-files.js'
import type { StackWorld } from './use-stack.js'

const REDIRECT_URI = 'https://collage.example/callback'
const dora = { username: 'dora', password: 'every walk has its own weather' }

export function activity(world: StackWorld): void {
  // The guard reports half a minute after the first use: the other subjects run meanwhile.
  beforeAll(async () => {
    const { stack, at } = world
    const { user_id } = await stack.valetkey(
      ['users', 'create', dora.username, '--password-stdin'],
      `${dora.password}\n`
    )
    await stack.valetkeyFiles(['import', '--owner', user_id ?? '', world.files])
    const basis = ['clients', 'create', '--name', 'Collage', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read']
    const { client_id = '', client_secret } = await stack.valetkey(basis)
    const registration = {
      issuer: at.issuer,
      clientId: client_id,
      clientSecret: client_secret,
      redirectUri: REDIRECT_URI
    }
    const app = createApp({ ...registration, scope: 'files.read' })
    const code = await simulateUser(at.issuer, dora).code(app.authorizeUrl({ state: 'a-state' }))
    const { access_token } = JSON.parse((await app.exchange(code)).text)
    for (let list = 0; list < 3; list += 1) {
      const headers = { authorization: `Bearer ${access_token}` }
      expect((await fetch(`${at.resourceUrl}/v1/files`, { headers })).status).toBe(200)
    }
  })

  test('the page of connected apps shows how many files an app listed', async () => {
    const user = simulateUser(world.at.issuer, dora, { 'accept-language': 'en' })
    const open = async () => (await user.open(`${world.at.issuer}/account/apps`)).html
    let html = await open()
    while (!html.includes('Listed files')) {
      await wait(500)
      html = await open()
    }
    expect(html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')).toContain(`${3 * knownFiles.length} on `)
  })
}
