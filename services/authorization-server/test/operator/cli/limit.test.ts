import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  const valetkey = (args: string[], stdin = '') => runCommand(server.database, args, { stdin })
  for (const name of ['one', 'two', 'three']) {
    await valetkey(['users', 'create', name, '--password-stdin'], 'a passphrase of four words')
    await valetkey(['scopes', 'create', `${name}.read`, '--title', name])
    await valetkey(['operator-keys', 'create', '--name', name])
    await valetkey(['resource-servers', 'create', '--name', name, '--audience', `https://${name}.example`])
    await valetkey([
      'clients',
      'create',
      '--name',
      name,
      '--redirect-uri',
      'https://a.example',
      '--scope',
      'files.read'
    ])
  }
})
afterAll(() => server.close())

test.each([
  ['users', 'users'],
  ['scopes', 'scopes'],
  ['operator-keys', 'operator_keys'],
  ['resource-servers', 'resource_servers'],
  ['clients', 'clients']
])('%s list --limit prints that many, and says on stderr that there are more', async (command, member) => {
  const list = (...args: string[]) => runCommand(server.database, [command, 'list', '--json', ...args])
  const [all, some] = [await list(), await list('--limit', '2')]
  expect([all.said, JSON.parse(some.out)[member]]).toEqual(['', JSON.parse(all.out)[member].slice(0, 2)])
  expect(JSON.parse(all.out)[member].length).toBeGreaterThan(2)
  expect(some.said).toMatch(/^There are more than 2 [a-z ]+: raise --limit\.\n$/)
})

test.each(['0', '-1', '1.5', 'many', '1000000'])('--limit %s is wrong usage', async (limit) => {
  const { code, said } = await runCommand(server.database, ['users', 'list', '--limit', limit])
  expect([code, said]).toEqual([2, expect.stringContaining('whole number from 1 to 999999')])
})
