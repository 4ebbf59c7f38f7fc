import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createScopeStore } from '../../../../src/storage/postgres/scopes.js'
import { NOTE } from '../../../support/audit-note.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'
import { NEW_SCOPE } from '../../../support/new-scope.js'

let server: TestServer
const scopes = (...args: string[]) => runCommand(server.database, ['scopes', ...args])

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.close())

describe('scopes that select', () => {
  test('one scope of an API can select: another is a conflict (4) that names it, until it no longer does', async () => {
    const audience = 'https://letters.example'
    await runCommand(server.database, ['resource-servers', 'create', '--name', 'letters', '--audience', audience])
    const selecting = ['--title', 'Letters', '--resource', 'letters', '--selects']
    expect(JSON.parse((await scopes('create', 'letters.some', ...selecting, '--json')).out)).toMatchObject({
      selects: true
    })
    expect((await scopes('list')).out).toMatch(/letters\.some .* selects\n/)
    const second = await scopes('create', 'letters.few', ...selecting)
    expect([second.code, second.said]).toEqual([
      4,
      expect.stringContaining('scope letters.some of the same API selects already')
    ])
    await scopes('create', 'letters.few', '--title', 'Letters', '--resource', 'letters')
    expect((await scopes('update', 'letters.few', '--selects')).code).toBe(4)
    expect((await scopes('update', 'letters.some', '--title', 'Some letters')).code).toBe(0)
    expect((await scopes('update', 'letters.some', '--no-selects')).code).toBe(0)
    expect((await scopes('update', 'letters.few', '--selects')).code).toBe(0)
    // The built-in one of the default API.
    expect((await scopes('create', 'chosen', '--title', 'Chosen', '--selects')).said).toContain(
      'scope files.selected of'
    )
    for (const name of ['letters.some', 'letters.few']) await scopes('delete', name, '--yes')
  })

  test('the database refuses a second scope of an API that selects', async () => {
    const stores = createScopeStore(server.database)
    const audience = 'https://twice.example'
    const first = { ...NEW_SCOPE, title: 'Some', audience, selects: true }
    expect(await stores.create({ ...first, name: 'twice.first' }, NOTE)).toBe(true)
    expect(await stores.create({ ...first, name: 'twice.second' }, NOTE)).toBe(false)
    const third = { ...first, name: 'twice.third', selects: false }
    await stores.create(third, NOTE)
    const { version = '' } = (await stores.findInUse('twice.third')) ?? {}
    expect(await stores.update({ ...third, selects: true }, version, NOTE)).toBe(false)
    await stores.remove('twice.third', false, NOTE)
    const others = (await stores.list()).filter(({ name }) => name.startsWith('twice'))
    expect(others.map(({ name }) => name)).toEqual(['twice.first'])
    await stores.remove('twice.first', false, NOTE)
  })
})
