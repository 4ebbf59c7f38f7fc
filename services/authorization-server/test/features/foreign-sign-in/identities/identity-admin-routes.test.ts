import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type Administration, lastChangeIn, startAdministration } from '../../../support/administration.js'
import { PASSWORD } from '../../../support/flow.js'
import { HANDOFF, LOGIN_ISSUER } from '../../../support/handoff.js'
import { serverWithUser } from '../../../support/server-with-user.js'

describe('identities', () => {
  const world = serverWithUser(HANDOFF)
  let admin: Administration
  let identity: { issuer: string; subject: string }

  beforeAll(async () => {
    admin = await startAdministration(world.server)
  })
  beforeEach(() => {
    identity = { issuer: LOGIN_ISSUER, subject: world.subject }
  })

  const path = (id = world.userId) => `/users/${id}/identities`

  describe('/admin/users/{user_id}/identities', () => {
    test('POST links, GET lists, DELETE unlinks; each change is audited', async () => {
      const linked = await admin.call('POST', path(), identity)
      expect(linked.statusCode).toBe(201)
      expect(await lastChangeIn(world.server)).toMatchObject({
        event: 'identity_linked',
        user_id: world.userId,
        details: { ...identity, actor: admin.actor }
      })
      expect((await admin.call('POST', path(), identity)).json()).toEqual(linked.json())
      expect((await admin.call('GET', path())).json()).toEqual({ identities: [linked.json()] })
      const unlink = () => admin.call('DELETE', `${path()}?${new URLSearchParams(identity)}`)
      expect((await unlink()).json()).toEqual(linked.json())
      expect(await lastChangeIn(world.server)).toMatchObject({ event: 'identity_unlinked', user_id: world.userId })
      expect((await unlink()).statusCode).toBe(404)
    })

    test('POST of an identity of another user is 409 and does not name the user', async () => {
      const other = await world.server.createUser(`other-${world.username}`, PASSWORD)
      await admin.call('POST', path(other), identity)
      const answer = await admin.call('POST', path(), identity)
      expect([answer.statusCode, answer.json().detail]).toEqual([409, 'the identity is linked to another user'])
    })

    test.each([
      { body: {}, status: 400 },
      { body: { issuer: LOGIN_ISSUER }, status: 400 },
      { body: { issuer: LOGIN_ISSUER, subject: '' }, status: 422 },
      { body: { issuer: LOGIN_ISSUER, subject: 'a\u0000' }, status: 422 }
    ])('POST of $body is $status', async ({ body, status }) => {
      expect((await admin.call('POST', path(), body)).statusCode).toBe(status)
    })

    test('of an unknown user is 404', async () => {
      for (const id of [randomUUID(), 'bob']) {
        expect((await admin.call('GET', path(id))).statusCode).toBe(404)
        expect((await admin.call('POST', path(id), identity)).statusCode).toBe(404)
      }
    })
  })

  describe('POST /admin/users/disable', () => {
    test('disables the user of an identity, twice with the same response', async () => {
      await admin.call('POST', path(), identity)
      const answer = await admin.call('POST', '/users/disable', identity)
      expect(answer.json()).toMatchObject({ user_id: world.userId, disabled: true })
      expect((await admin.call('POST', '/users/disable', identity)).json()).toEqual(answer.json())
      expect(await lastChangeIn(world.server)).toMatchObject({ event: 'user_disabled', user_id: world.userId })
    })

    test('of an unknown identity is 404', async () => {
      expect((await admin.call('POST', '/users/disable', identity)).statusCode).toBe(404)
    })
  })
})
