import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Administration, lastChangeIn, startAdministration } from '../../../../support/administration.js'
import { type Credentials, startTestServer, type TestServer } from '../../../../support/authorization-server.js'
import { OPERATOR, runCommand } from '../../../../support/command-line.js'
import { insertUser } from '../../../../support/insert-user.js'
import { actorOf, ownAppDeps, registerApp, releaseScope } from '../../support/developer-apps.js'

let server: TestServer
let admin: Administration
let number = 0
let alice: { userId: string; username: string }
let bob: { userId: string; username: string }

async function newUser(name: string) {
  number += 1
  const user = { userId: crypto.randomUUID(), username: `${name}-${number}` }
  await insertUser(server.database, { ...user, passwordHash: 'none', createdAt: new Date() })
  return user
}

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
  await releaseScope(server, 'notes.read')
})
beforeEach(async () => {
  alice = await newUser('alice')
  bob = await newUser('bob')
})
afterAll(() => server.close())

const clients = (...args: string[]) => runCommand(server.database, ['clients', ...args])
const shown = async (clientId: string) => JSON.parse((await clients('show', clientId, '--json')).out)
const changes = async () => (await lastChangeIn(server))?.details.changes
const run = (text: string, values: readonly unknown[] = []) => server.database.query({ name: '', text, values })

describe('owners of a client that an operator registered', () => {
  let client: Credentials
  beforeEach(async () => {
    client = await server.createClient()
  })

  test('are set, shown, listed and removed by the command line, and audited', async () => {
    const { clientId } = client
    expect(await clients('update', clientId, '--owner', alice.username)).toMatchObject({ code: 0, said: '' })
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'client_owners_changed',
      client_id: clientId,
      details: {
        actor: { kind: 'command_line', name: OPERATOR },
        changes: { owners: { from: [], to: [alice.userId] } }
      }
    })
    const owner = { user_id: alice.userId, username: alice.username, disabled: false }
    expect(await shown(clientId)).toMatchObject({ owners: [owner], owner_secrets: false })
    expect((await clients('show', clientId)).out).toContain(`owners: ${alice.username}\n`)
    expect((await clients('list')).out).toMatch(new RegExp(`OWNERS.*\n(.*\n)*${clientId}.*${alice.username}`))

    await clients('update', clientId, '--owner', bob.userId, '--owner', alice.username, '--owner-secrets')
    expect(await changes()).toEqual({
      owners: { from: [alice.userId], to: [alice.userId, bob.userId].toSorted() },
      owner_secrets: { from: false, to: true }
    })
    await clients('update', clientId, '--owner', '')
    expect(await changes()).toEqual({
      owners: { from: [alice.userId, bob.userId].toSorted(), to: [] },
      owner_secrets: { from: true, to: false }
    })
    expect(await shown(clientId)).not.toHaveProperty('owners')
  })

  test('get and lose the right to change secrets without a change of owners, and equal owners are no change', async () => {
    const { clientId } = client
    await clients('update', clientId, '--owner', alice.username)
    await clients('update', clientId, '--owner-secrets')
    expect(await changes()).toEqual({ owner_secrets: { from: false, to: true } })
    await clients('update', clientId, '--owner', bob.username)
    expect(await shown(clientId)).toMatchObject({ owners: [{ username: bob.username }], owner_secrets: true })
    await clients('update', clientId, '--no-owner-secrets')
    const last = await lastChangeIn(server)
    await clients('update', clientId, '--owner', bob.username, '--no-owner-secrets')
    expect(await lastChangeIn(server)).toEqual(last)
  })

  test('are set with the settings in one command, and by the creation', async () => {
    const { out } = await clients(
      ...['create', '--name', 'Harbour', '--redirect-uri', 'https://a.example/cb', '--scope', 'notes.read'],
      ...['--owner', alice.username, '--owner-secrets', '--json']
    )
    const made = JSON.parse(out)
    expect(made).toMatchObject({ owners: [{ username: alice.username }], owner_secrets: true })
    const updated = await clients('update', made.client_id, '--name', 'Pier', '--owner', bob.username, '--json')
    expect(JSON.parse(updated.out)).toMatchObject({ name: 'Pier', owners: [{ username: bob.username }] })
  })

  test('must exist: otherwise nothing is created or changed', async () => {
    const rest = ['--redirect-uri', 'https://a.example/cb', '--scope', 'notes.read', '--owner', 'unknown']
    expect(await clients('create', '--name', 'Ghost ship', ...rest)).toMatchObject({ code: 3, out: '' })
    expect((await clients('list', '--name', 'Ghost ship')).out).toContain('no matching clients')
    const update = await clients('update', client.clientId, '--name', 'Ghost', '--owner', 'unknown')
    expect([update.code, update.said, (await shown(client.clientId)).name]).toEqual([
      3,
      'there is no user unknown',
      expect.not.stringContaining('Ghost')
    ])
    expect(await clients('update', client.clientId, '--owner-secrets')).toMatchObject({ code: 2 })
    expect(await clients('update', client.clientId, '--owner', '', '--owner-secrets')).toMatchObject({ code: 2 })
    const many = await Promise.all(Array.from({ length: 21 }, () => newUser('many')))
    const options = many.flatMap(({ username }) => ['--owner', username])
    expect(await clients('update', client.clientId, ...options)).toMatchObject({ code: 2 })
  })

  test('that are replaced by two operators at once: one of the two, never a mixture', async () => {
    const { clientId } = client
    await Promise.all([
      clients('update', clientId, '--owner', alice.username, '--owner-secrets'),
      clients('update', clientId, '--owner', bob.username)
    ])
    const { owners } = await shown(clientId)
    expect(owners).toHaveLength(1)
    const events = await run(`select from audit_events where event = 'client_owners_changed' and client_id = $1`, [
      clientId
    ])
    expect(events).toHaveLength(2)
  })

  test('the end of their account: a disabled owner stays, a deleted one is gone, and the client works on', async () => {
    const { clientId } = client
    await clients('update', clientId, '--owner', alice.username, '--owner', bob.username, '--owner-secrets')
    await runCommand(server.database, ['users', 'disable', alice.username, '--yes'])
    await runCommand(server.database, ['users', 'delete', bob.username, '--yes'])
    expect(await shown(clientId)).toMatchObject({
      owners: [{ username: alice.username, disabled: true }],
      owner_secrets: true,
      disabled: false
    })
  })

  test('end with the client', async () => {
    await clients('update', client.clientId, '--owner', alice.username)
    await clients('delete', client.clientId, '--yes')
    expect(await run('select from client_owners where user_id = $1', [alice.userId])).toEqual([])
  })

  test('are read and replaced by the administration API', async () => {
    const path = `/clients/${client.clientId}/owners`
    expect((await admin.call('GET', path)).json()).toEqual({ owners: [], owner_secrets: false })
    const answer = await admin.call('PUT', path, { owners: [alice.username, bob.userId], owner_secrets: true })
    expect(answer.json()).toEqual({
      owners: [
        { user_id: alice.userId, username: alice.username, disabled: false },
        { user_id: bob.userId, username: bob.username, disabled: false }
      ],
      owner_secrets: true
    })
    expect((await lastChangeIn(server))?.details.actor).toEqual(admin.actor)
    expect((await admin.call('PUT', path, { owners: [alice.userId] })).json()).toMatchObject({ owner_secrets: true })
    expect((await admin.call('PUT', path, { owners: ['unknown'] })).statusCode).toBe(404)
    expect((await admin.call('PUT', path, { owners: [], owner_secrets: true })).statusCode).toBe(422)
    expect((await admin.call('PUT', path, {})).statusCode).toBe(400)
    expect((await admin.call('GET', '/clients/unknown/owners')).statusCode).toBe(404)
  })
})

describe('owners of an app that a user registered', () => {
  let clientId: string
  const appDeps = () => ownAppDeps(server)
  beforeEach(async () => {
    clientId = (await registerApp(await actorOf(server, alice), appDeps())).clientId
  })

  test('are shown for the client, and an operator gives the app to another user', async () => {
    expect(await shown(clientId)).toMatchObject({ owners: [{ username: alice.username }], owner_secrets: true })
    await run('insert into authorizations (user_id, client_id, generation) values ($1, $2, 1)', [
      alice.userId,
      clientId
    ])
    expect(await clients('update', clientId, '--owner', bob.username)).toMatchObject({ code: 0 })
    expect([
      await appDeps().apps.findOwn(alice.userId, clientId),
      await appDeps().apps.findOwn(bob.userId, clientId)
    ]).toMatchObject([undefined, { clientId }])
    const generations = 'select generation from authorizations where user_id = $1 and client_id = $2'
    expect(await run(generations, [alice.userId, clientId])).toEqual([{ generation: 2 }])
    expect(await run('select from client_owners where client_id = $1', [clientId])).toEqual([])
  })

  test('are at least one enabled user, and always change its secrets', async () => {
    await runCommand(server.database, ['users', 'disable', bob.username, '--yes'])
    for (const options of [['--owner', ''], ['--no-owner-secrets'], ['--owner', bob.username]])
      expect(await clients('update', clientId, ...options)).toMatchObject({ code: 4 })
    expect(await shown(clientId)).toMatchObject({ owners: [{ username: alice.username }] })
  })

  test('an invitation of a replaced owner ends', async () => {
    const actor = await actorOf(server, alice)
    const app = await appDeps().apps.findOwn(alice.userId, clientId)
    await appDeps().people.invite(actor.user, app as never, { username: 'carol', transfers: false }, {
      event: 'test',
      details: {}
    } as never)
    await clients('update', clientId, '--owner', bob.username)
    expect(await run('select from app_invitations where client_id = $1', [clientId])).toEqual([])
  })
})
