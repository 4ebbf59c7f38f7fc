import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Administration, changesIn, lastChangeIn, startAdministration } from '../../../support/administration.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runCommand } from '../../../support/command-line.js'

let server: TestServer
let admin: Administration
let audience: string
let clientId: string

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
beforeEach(async () => {
  audience = `https://api-${Math.random()}.example`
  clientId = (await server.createResourceServer(audience)).clientId
})
afterAll(() => server.close())

const run = (...args: string[]) => runCommand(server.database, ['resource-servers', ...args])
const actionsOf = async (id = clientId) => JSON.parse((await run('actions', id, '--json')).out).actions
const LISTED = { name: 'list_reports', title: 'Listed reports', translations: {} }

describe('resource-servers actions', () => {
  test('shows the actions, declares them, and writes an audit entry', async () => {
    expect((await run('actions', clientId)).out).toBe(`No actions are declared for ${audience}.\n`)
    const texts = ['--action', 'list_reports=Listed reports', '--action-in', 'de:list_reports=Berichte = aufgelistet']
    const { out } = await run('actions', clientId, ...texts)
    expect(out).toBe('list_reports: Listed reports\n  de: Berichte = aufgelistet\n')
    const to = [{ ...LISTED, translations: { de: 'Berichte = aufgelistet' } }]
    expect(await actionsOf()).toEqual(to)
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'resource_server_updated',
      client_id: clientId,
      details: { audience, changes: { actions: { from: [], to } } }
    })
  })

  test('changes a title and keeps its translations; adds and removes others', async () => {
    await run('actions', clientId, '--action', 'list_reports=A', '--action', 'b=B', '--action-in', 'de:list_reports=D')
    await run('actions', clientId, '--action', 'list_reports=Listed reports', '--remove-action', 'b', '--action', 'a=A')
    expect(await actionsOf()).toEqual([
      { name: 'a', title: 'A', translations: {} },
      { ...LISTED, translations: { de: 'D' } }
    ])
  })

  test('repeated changes nothing, and writes one audit entry', async () => {
    const before = (await changesIn(server)).length
    const texts = ['--action', 'a=A', '--action-in', 'pt-BR:a=P', '--action-in', 'fr:a=F']
    await run('actions', clientId, ...texts)
    await run('actions', clientId, ...texts)
    expect((await changesIn(server)).length - before).toBe(1)
  })

  test('in parallel: each action is stored, or its command fails', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `action_${index}`)
    const results = await Promise.all(names.map((name) => run('actions', clientId, '--action', `${name}=A`)))
    const stored: { name: string }[] = await actionsOf()
    expect(stored.map(({ name }) => name)).toEqual(names.filter((_, index) => results[index]?.code === 0))
    for (const { code, said } of results.filter((result) => result.code !== 0)) {
      expect([code, said]).toEqual([4, expect.stringContaining('try again')])
    }
  })

  test('holds for all credentials of the API, until the last is deleted', async () => {
    await run('actions', clientId, '--action', 'list_reports=Listed reports')
    const rotated = JSON.parse((await run('rotate-secret', clientId, '--json')).out).client_id
    await run('delete', clientId, '--yes')
    expect(await actionsOf(rotated)).toEqual([LISTED])
    await run('delete', rotated, '--yes')
    const again = (await server.createResourceServer(audience)).clientId
    expect(await actionsOf(again)).toEqual([])
  })

  const many = Array.from({ length: 21 }, (_, index) => ['--action', `a${index}=A`]).flat()
  test.each([
    { name: 'more than 20 actions', args: many, said: 'at most 20 actions' },
    { name: 'a name with capitals', args: ['--action', 'List=A'], said: 'the name of an action must have' },
    { name: 'a name of every object', args: ['--action', '__proto__=A'], said: 'the name of an action must have' },
    { name: 'no title', args: ['--action', 'list_reports'], said: 'must have the form name=title' },
    { name: 'an empty title', args: ['--action', 'list_reports= '], said: 'a title must have 1 to 100 characters' },
    { name: 'a title that turns', args: ['--action', 'a=A\u202e'], said: 'change the text direction' },
    { name: 'a translation without language', args: ['--action-in', 'a=A'], said: 'the form language:name=title' },
    { name: 'an unknown language', args: ['--action', 'a=A', '--action-in', '7:a=A'], said: 'is not a language tag' },
    { name: 'a translation of nothing', args: ['--action-in', 'de:a=A'], said: 'the API has no action a' },
    { name: 'a removal of nothing', args: ['--remove-action', 'a'], said: 'the API has no action a' }
  ])('refuses $name', async ({ args, said }) => {
    const result = await run('actions', clientId, ...args)
    expect([result.code, result.said]).toEqual([2, expect.stringContaining(said)])
    expect(await actionsOf()).toEqual([])
  })

  test('does not find an unknown credential', async () => {
    const result = await run('actions', 'rs_unknown', '--action', 'a=A')
    expect([result.code, result.said]).toEqual([3, expect.stringContaining('there is no resource server rs_unknown')])
  })
})

describe('resource-servers create and update', () => {
  test('declare actions', async () => {
    const api = ['--name', 'reports', '--audience', `${audience}/reports`]
    const created = await run('create', ...api, '--action', 'list_reports=Listed', '--json')
    const id = JSON.parse(created.out).client_id
    expect(await actionsOf(id)).toEqual([{ ...LISTED, title: 'Listed' }])
    const { out } = await run('update', id, '--action', 'list_reports=Listed reports', '--title', 'Reports', '--json')
    expect(JSON.parse(out)).toMatchObject({ client_id: id, title: 'Reports' })
    expect(await actionsOf(id)).toEqual([LISTED])
    await run('update', id, '--remove-action', 'list_reports')
    expect(await actionsOf(id)).toEqual([])
  })

  test('with a wrong action create no credential', async () => {
    const api = ['--name', 'reports', '--audience', `${audience}/reports`]
    for (const action of ['List=A', 'list', 'list= ']) {
      expect((await run('create', ...api, '--action', action)).code).toBe(2)
    }
    expect((await run('list', '--json')).out).not.toContain(`${audience}/reports`)
  })

  test('show the secret also if the action cannot be declared', async () => {
    const api = ['--name', 'reports', '--audience', `${audience}/reports`]
    const result = await run('create', ...api, '--action-in', 'de:list_reports=A')
    expect([result.code, result.out]).toEqual([2, expect.stringContaining('client secret:')])
    expect(result.said).toContain('the API has no action list_reports')
  })

  test('update without a change is wrong usage', async () => {
    const result = await run('update', clientId)
    expect([result.code, result.said]).toEqual([
      2,
      expect.stringContaining('pass --title or --title-in or --drop-language or --dpop or --action')
    ])
  })
})

describe('/admin/resource-servers/{client_id}/actions', () => {
  const path = (id: string) => `/resource-servers/${id}/actions`

  test('GET and PUT do what the command does', async () => {
    expect((await admin.call('GET', path(clientId))).json()).toEqual({ client_id: clientId, audience, actions: [] })
    const given = { actions: [{ name: 'list_reports', title: 'Listed reports', translations: { de: 'Berichte' } }] }
    const answer = await admin.call('PUT', path(clientId), given)
    expect([answer.statusCode, answer.json()]).toEqual([200, { client_id: clientId, audience, ...given }])
    expect(await actionsOf()).toEqual(given.actions)
    expect(await lastChangeIn(server)).toMatchObject({ details: { actor: admin.actor } })
    await admin.call('PUT', path(clientId), { actions: [] })
    expect(await actionsOf()).toEqual([])
  })

  test.each([
    { body: {}, status: 400 },
    { body: { actions: 'list_reports' }, status: 400 },
    { body: { actions: [{ name: 'a' }] }, status: 400 },
    { body: { actions: [{ name: 'a', title: 'A', other: 1 }] }, status: 400 },
    { body: { actions: [{ name: 'a', title: 'A', translations: { de: 7 } }] }, status: 400 },
    { body: { actions: [{ name: 'A', title: 'A' }] }, status: 422 },
    { body: { actions: Array(2).fill({ name: 'a', title: 'A' }) }, status: 422 }
  ])('PUT refuses $body with $status and changes nothing', async ({ body, status }) => {
    expect((await admin.call('PUT', path(clientId), body)).statusCode).toBe(status)
    expect(await actionsOf()).toEqual([])
  })

  test('an unknown credential is 404', async () => {
    expect((await admin.call('GET', path('rs_unknown'))).statusCode).toBe(404)
    expect((await admin.call('PUT', path('rs_unknown'), { actions: [] })).statusCode).toBe(404)
  })
})
