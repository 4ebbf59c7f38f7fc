import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { requestApproval } from '../../../../src/features/developer-apps/request-approval.js'
import { type Administration, lastChangeIn, startAdministration } from '../../../support/administration.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { appInput, newActor, ownAppDeps, registerApp, releaseScope } from '../support/developer-apps.js'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
afterAll(() => server.close())

describe('apps of users', () => {
  beforeAll(async () => {
    await releaseScope(server, 'notes.read')
  })

  const metric = async () => {
    for (const { periodicTasks = [] } of server.deps.features) await Promise.all(periodicTasks.map((task) => task()))
    const { body } = await server.operatorServer.inject({ url: '/metrics' })
    return /^valetkey_apps_waiting (\d+)$/m.exec(body)?.[1]
  }

  test('apps are listed, refused, approved and disabled, each with an audit entry', async () => {
    const deps = ownAppDeps(server)
    const owner = await newActor(server, 'olga')
    const { clientId } = await registerApp(owner, deps, appInput({ branding: { homePage: 'https://boat.example/' } }))
    expect(await metric()).toBe('0')
    await requestApproval(clientId, owner, deps)
    expect(await metric()).toBe('1')
    const { apps } = (await admin.call('GET', '/apps?waiting=true')).json()
    expect(apps).toMatchObject([{ client_id: clientId, state: 'requested', revision: 1, pending_change: false }])

    const path = `/apps/${clientId}`
    const found = (await admin.call('GET', path)).json()
    expect(found).toMatchObject({ home_page: 'https://boat.example/', owners: [{ username: 'olga' }], testers: [] })
    expect((await admin.call('POST', `${path}/refuse`, { reason: 'No.' })).json()).toMatchObject({ refusal: 'No.' })
    expect(await lastChangeIn(server)).toMatchObject({
      event: 'app_refused',
      details: { reason: 'No.', actor: admin.actor }
    })

    await requestApproval(clientId, owner, deps)
    expect((await admin.call('POST', `${path}/approve`, {})).statusCode).toBe(400)
    expect((await admin.call('POST', `${path}/approve`, { revision: 2 })).statusCode).toBe(409)
    expect((await admin.call('POST', `${path}/approve`, { revision: 1 })).json()).toMatchObject({ state: 'approved' })
    expect(await lastChangeIn(server)).toMatchObject({ event: 'app_approved', details: { actor: admin.actor } })
    expect((await admin.call('POST', `${path}/disable`)).json()).toMatchObject({ state: 'disabled' })
    expect(await metric()).toBe('0')
  })

  test('a client that an operator registered is no app', async () => {
    const { clientId } = await server.createClient()
    expect((await admin.call('GET', `/apps/${clientId}`)).statusCode).toBe(404)
    expect((await admin.call('POST', `/apps/${clientId}/disable`)).statusCode).toBe(404)
  })
})
