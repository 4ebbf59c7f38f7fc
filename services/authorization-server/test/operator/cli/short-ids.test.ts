import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())
beforeEach(async () => {
  for (const table of ['clients', 'resource_servers'])
    await server.database.query({ name: '', text: `delete from ${table}`, values: [] })
})

const run = (...args: string[]) => runCommand(server.database, args)
const register = (clientId: string, name: string) => server.createClient({ clientId, name })

describe('a client in a command', () => {
  beforeEach(async () => {
    await register('abcdef111', 'Photo Printer')
    await register('abcdef222', 'Photo Printer')
    await register('other-client', 'Reader')
  })

  test.each([
    { by: 'the name', given: 'Reader', found: 'other-client' },
    { by: 'the beginning of the id', given: 'abcdef1', found: 'abcdef111' }
  ])('found by $by, and named on stderr', async ({ given, found }) => {
    const { code, out, said } = await run('clients', 'show', given, '--json')
    expect([code, JSON.parse(out).client_id]).toEqual([0, found])
    expect(said).toMatch(new RegExp(`^Using ${found} \\((Reader|Photo Printer)\\)\\.\\n$`))
  })

  test.each(['Photo Printer', 'abcdef'])(
    '%s is not unique: nothing happens, and the message names both',
    async (given) => {
      const { code, said } = await run('clients', 'delete', given, '--yes')
      expect([code, said]).toEqual([2, expect.stringMatching(/not unique: abcdef111 .*abcdef222 /)])
      expect((await run('clients', 'list')).out).toMatch(/abcdef111[\s\S]*abcdef222/)
    }
  )

  test('an id that exists is that client, whatever others are called', async () => {
    await register('the-third', 'other-client')
    const { out, said } = await run('clients', 'show', 'other-client', '--json')
    expect([JSON.parse(out).name, said]).toEqual(['Reader', ''])
  })

  test.each(['abcde', 'reader', 'Nobody'])('%s matches nothing: not found', async (given) => {
    expect((await run('clients', 'show', given)).code).toBe(3)
  })

  test.each(['discovered', 'developer'])('%s clients are not found by a name that they chose', async (origin) => {
    await server.database.query({ name: '', text: 'update clients set origin = $1', values: [origin] })
    expect((await run('clients', 'show', 'Reader')).code).toBe(3)
  })
})

test('a credential of an API is found by its name, and not among the clients', async () => {
  await register('other-client', 'files')
  const { client_id: id } = JSON.parse(
    (await run('resource-servers', 'create', '--name', 'files', '--audience', 'https://files.example', '--json')).out
  )
  const { code, said } = await run('resource-servers', 'update', 'files', '--title', 'Files')
  expect([code, said]).toEqual([0, `Using ${id} (files).\n`])
})
