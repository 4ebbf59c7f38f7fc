import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startRegistry, type TestRegistry } from '../../support/registry-files.js'

const REPORTS = { client_id: 'reports-api', name: 'reports', audience: 'https://reports.example' }
const DOCUMENT = { resource_servers: [REPORTS], scopes: [{ name: 'reports.read', title: 'See your reports' }] }

let registry: TestRegistry

beforeAll(async () => {
  registry = await startRegistry()
  // Stands for another command that creates the same scope after the validation.
  await registry.run(`create function create_scope() returns trigger language plpgsql as $$
    begin
      insert into scopes (name, title) values ('reports.read', 'Of another command');
      return new;
    end $$`)
  await registry.run(`create trigger create_scope after insert on resource_servers
    for each row execute function create_scope()`)
})
afterAll(() => registry.close())
beforeEach(async () => {
  await registry.clear()
})

describe('apply that fails after the first change', () => {
  test('has printed the change that was made; a repetition makes the others', async () => {
    expect(await registry.apply(DOCUMENT)).toEqual({
      code: 4,
      out: 'Created resource server reports-api\n',
      said: 'scope reports.read exists already'
    })
    expect(await registry.apply(DOCUMENT)).toMatchObject({ code: 0, out: 'Updated scope reports.read: title\n' })
  })

  test('prints with --json one document with only the change that was made', async () => {
    const { code, out, said } = await registry.apply(DOCUMENT, '--json')
    expect([code, said]).toEqual([4, 'scope reports.read exists already'])
    expect(JSON.parse(out)).toEqual({
      changes: [{ kind: 'resource server', id: 'reports-api', action: 'create', changes: {} }],
      dry_run: false
    })
  })
})
