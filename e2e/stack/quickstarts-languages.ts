import { afterAll, expect, test } from '@jest/globals'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import { knownFiles } from '../support/known-files.js'
import { endQuickstarts, expectFilesAtWebApp, registerQuickstart, runQuickstart } from '../support/quickstarts.js'
import type { StackWorld } from './use-stack.js'

export function quickstartsInLanguages(world: StackWorld): void {
  afterAll(endQuickstarts)

  test.each(['web-app.py', 'web-app.go', 'web-app.rb', 'web-app.php', 'WebApp.java'])(
    '%s signs in and lists the files, only in the browser that started',
    (file) => expectFilesAtWebApp(file, world.stack, world.at)
  )

  test('curl.sh lists the files, refreshes and revokes', async () => {
    const client = await registerQuickstart(world.stack, 'http://127.0.0.1:4280/callback')
    const program = await runQuickstart('curl.sh', world.at, client)
    const callback = await simulateUser(world.at.issuer, world.at).decide(new URL(program.address), 'allow')
    program.type(callback.href)
    const { code, output } = await program.ended
    const lines = output.split('\n').slice(2, -1)
    expect(lines.slice(0, knownFiles.length).sort()).toEqual(knownFiles.map(({ name }) => name).sort())
    expect(lines.slice(knownFiles.length)).toEqual([
      'Refreshed; the new access token is valid for 3600 seconds.',
      'Revoked.'
    ])
    expect(code).toBe(0)
    expect(await world.stack.valetkey(['grants', 'list', '--client', client.CLIENT_ID])).toEqual({ grants: [] })
  })
}
