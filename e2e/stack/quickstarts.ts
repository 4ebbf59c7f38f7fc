import { afterAll, expect, test } from '@jest/globals'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import { knownFiles } from '../support/known-files.js'
import { endQuickstarts, expectFilesAtWebApp, registerQuickstart, runQuickstart } from '../support/quickstarts.js'
import type { StackWorld } from './use-stack.js'

const REDIRECT_URI = 'http://127.0.0.1:4280/callback'

export function quickstarts(world: StackWorld): void {
  afterAll(endQuickstarts)

  test('the web app in Node signs in and lists the files, only in the browser that started', async () => {
    await expectFilesAtWebApp('web-app.mjs', world.stack, world.at)
  })

  test('the native app, a public client on any port, prints the files and ends (RFC 8252 7.3)', async () => {
    const client = await registerQuickstart(world.stack, REDIRECT_URI, '--public')
    expect(client).not.toHaveProperty('CLIENT_SECRET')
    const program = await runQuickstart('native-app.mjs', world.at, client)
    const callback = await simulateUser(world.at.issuer, world.at).decide(new URL(program.address), 'allow')
    expect(callback.port).not.toBe('4280')
    const forged = new URL(callback)
    forged.searchParams.set('state', 'another')
    expect((await fetch(forged)).status).toBe(404)
    expect(await (await fetch(callback)).text()).toBe('You can close this window.')
    const { code, output } = await program.ended
    expect(code).toBe(0)
    expect(output.split('\n').slice(1, -1).sort()).toEqual(knownFiles.map(({ name }) => name).sort())
  })

  test('the native app prints the error after a Deny, and ends with 1', async () => {
    const client = await registerQuickstart(world.stack, REDIRECT_URI, '--public')
    const program = await runQuickstart('native-app.mjs', world.at, client)
    const callback = await simulateUser(world.at.issuer, world.at).decide(new URL(program.address), 'deny')
    await fetch(callback)
    const { code, output } = await program.ended
    expect([code, output.split('\n').slice(1)]).toEqual([1, ['Sign-in failed: access_denied', '']])
  })
}
