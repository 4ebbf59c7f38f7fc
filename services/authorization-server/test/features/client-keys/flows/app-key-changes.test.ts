import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { hashToken } from '@valetkey/oauth-protocol'
import {
  type AppAuthentication,
  knownAuthentication,
  readAppAuthentication
} from '../../../../src/features/client-keys/app-authentication.js'
import { createAppKeyChangeStore } from '../../../../src/features/client-keys/app-key-change-store.js'
import {
  type AppKeyDeps,
  addAppKeys,
  removeAppKey,
  useKeys,
  useSecret
} from '../../../../src/features/client-keys/change-app-keys.js'
import { createClientKeyStore } from '../../../../src/features/client-keys/client-key-store.js'
import { decideInvitation, inviteOwner, removeOwner } from '../../../../src/features/developer-apps/app-owners.js'
import { addAppSecret } from '../../../../src/features/developer-apps/app-secrets.js'
import type { DeveloperApp } from '../../../../src/features/developer-apps/developer-app-store.js'
import type { Actor } from '../../../../src/features/developer-apps/own-apps.js'
import type { StoredJwk } from '../../../../src/storage/postgres/client-keys.js'
import { createClientStore } from '../../../../src/storage/postgres/clients.js'
import { createUserStore } from '../../../../src/storage/postgres/users.js'
import { NOTE } from '../../../support/audit-note.js'
import { actorOf, appOf, newActor, registerApp } from '../../developer-apps/support/developer-apps.js'
import { ownedApp } from '../../developer-apps/support/owned-app.js'
import { createSigningKey, withKeys } from '../support/assertions.js'

const given = ownedApp()
let deps: AppKeyDeps
let stored: StoredJwk[]

beforeAll(async () => {
  const keys = await Promise.all(Array.from({ length: 10 }, (_, index) => createSigningKey('Ed25519', `key-${index}`)))
  stored = keys.map((key) => withKeys(key).keys?.registered[0] ?? {})
})
beforeEach(() => {
  const { database } = given.world
  const keys = createClientKeyStore(database)
  deps = { ...given.deps, clients: createClientStore(database), keys, keyChanges: createAppKeyChangeStore(database) }
})

const present = async (): Promise<AppAuthentication> => {
  const found = await readAppAuthentication(given.clientId, deps)
  if (found === undefined) throw new Error('no app')
  return found
}
const kids = async () => {
  const found = await present()
  return found.kind === 'keys' ? found.keys.map(({ kid }) => kid).toSorted() : [found.kind]
}
const secrets = () => given.deps.secrets.list(given.clientId)
const known = async () => knownAuthentication(await present())
const keysAt = (...indices: readonly number[]) => indices.map((index) => stored[index] ?? {})

const add = (indices: readonly number[], actor = given.alice, own = deps) =>
  addAppKeys({ clientId: given.clientId, given: keysAt(...indices) }, actor, own)
const remove = (index: number, actor = given.alice, own = deps) =>
  removeAppKey({ clientId: given.clientId, kid: `key-${index}` }, actor, own)
const register = async (indices: readonly number[], shown?: string) => {
  const source = { keys: keysAt(...indices), jwksUri: undefined }
  return useKeys({ clientId: given.clientId, known: shown ?? (await known()), source }, given.alice, deps)
}
const publish = async (jwksUri: string, shown?: string) =>
  useKeys(
    { clientId: given.clientId, known: shown ?? (await known()), source: { keys: [], jwksUri } },
    given.alice,
    deps
  )
const takeSecret = async (shown?: string) =>
  useSecret({ clientId: given.clientId, known: shown ?? (await known()) }, given.alice, deps)
const events = async () => {
  const text = 'select event, user_id, details from audit_events where client_id = $1 order by event_id'
  return given.world.run(text, [given.clientId])
}

describe('the method of an app', () => {
  test('keys replace the secrets, and no secret can be added then', async () => {
    await addAppSecret(given.clientId, given.alice, given.deps)
    expect(await register([0])).toEqual({ kind: 'done' })
    expect([await kids(), await secrets()]).toEqual([['key-0'], []])
    expect(await addAppSecret(given.clientId, given.alice, given.deps)).toEqual({ kind: 'without_secrets' })
    expect(await secrets()).toEqual([])
    expect((await events()).at(-1)).toMatchObject({
      event: 'app_authentication_changed',
      user_id: given.alice.user.userId,
      details: {
        actor: { kind: 'user', userId: given.alice.user.userId },
        from: { auth_method: 'client_secret' },
        to: { auth_method: 'private_key_jwt', keys: keysAt(0) }
      }
    })
  })

  test('an address replaces the keys, and keys replace the address with what was fetched from it', async () => {
    await register([0])
    expect(await publish('https://app.example/jwks.json')).toEqual({ kind: 'done' })
    expect(await present()).toEqual({ kind: 'address', jwksUri: 'https://app.example/jwks.json', fetched: undefined })
    const rows = () => given.world.run('select from client_key_sets where client_id = $1', [given.clientId])
    const insert = `insert into client_key_sets (client_id, jwks_uri, keys, fetched_at, fresh_until)
      values ($1, 'https://app.example/jwks.json', '[]', now(), now())`
    await given.world.run(insert, [given.clientId])
    expect(await publish('https://app.example/other.json')).toEqual({ kind: 'done' })
    expect(await rows()).toEqual([])
    expect(await register([1])).toEqual({ kind: 'done' })
    expect(await kids()).toEqual(['key-1'])
  })

  test('a new secret replaces keys and address', async () => {
    for (const change of [() => register([0, 1]), () => publish('https://app.example/jwks.json')]) {
      await change()
      expect(await takeSecret()).toEqual({ kind: 'created', clientSecret: expect.stringMatching(/^vk_cs_/) })
      expect([await kids(), (await secrets()).length]).toEqual([['secret'], 1])
      expect(await given.world.run('select from client_keys where client_id = $1', [given.clientId])).toEqual([])
    }
    expect((await events()).at(-1)).toMatchObject({
      details: { to: { auth_method: 'client_secret', secretId: (await secrets())[0]?.secretId } }
    })
  })

  test('a form that was shown before another change is refused', async () => {
    const before = await known()
    await register([0])
    const one = await known()
    await add([1])
    expect(await register([2], before)).toEqual({ kind: 'stale' })
    expect(await publish('https://app.example/jwks.json', one)).toEqual({ kind: 'stale' })
    expect(await takeSecret(one)).toEqual({ kind: 'stale' })
    expect([await kids(), await secrets()]).toEqual([['key-0', 'key-1'], []])
  })

  test('a repeated form changes nothing: keys that were added since stay, and a secret is created once', async () => {
    const before = await known()
    await register([0], before)
    await add([1])
    expect(await register([0], before)).toEqual({ kind: 'done' })
    expect(await kids()).toEqual(['key-0', 'key-1'])
    const shown = await known()
    const outcomes = await Promise.all([takeSecret(shown), takeSecret(shown)])
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['created', 'stale'])
    expect(await secrets()).toHaveLength(1)
  })

  test('a public app has none', async () => {
    const { clientId } = await registerApp(given.alice, given.deps, { type: 'public' })
    expect(await readAppAuthentication(clientId, deps)).toBeUndefined()
    const source = { keys: keysAt(0), jwksUri: undefined }
    expect(await useKeys({ clientId, known: '', source }, given.alice, deps)).toEqual({ kind: 'unknown_app' })
    const app = await appOf(given.alice, clientId, given.deps)
    expect(await deps.keyChanges.setKeys(given.alice.user, app, source, NOTE)).toBe(false)
    expect(await deps.keyChanges.useSecret(given.alice.user, app, hashToken('secret'), NOTE)).toBe(false)
  })
})

test('an app under the profile fapi2 keeps its keys, and gets none with RS256', async () => {
  await register([0])
  const profile = `update clients set profile = 'fapi2', requires_par = true, dpop_bound = true, rotates_refresh_tokens = false
    where client_id = $1`
  await given.world.run(profile, [given.clientId])
  const key = await createSigningKey('RS256', 'rsa')
  const rsa = withKeys({ ...key, jwk: { ...key.jwk, alg: 'RS256' } }).keys?.registered ?? []
  const source = { keys: rsa, jwksUri: undefined }
  const answers = [
    await takeSecret(),
    await addAppKeys({ clientId: given.clientId, given: rsa }, given.alice, deps),
    await useKeys({ clientId: given.clientId, known: await known(), source }, given.alice, deps)
  ]
  expect(answers).toEqual(Array(3).fill({ kind: 'against_profile' }))
  expect([await kids(), await add([1]), await kids()]).toEqual([['key-0'], { kind: 'done' }, ['key-0', 'key-1']])
})

describe('the keys of an app', () => {
  beforeEach(() => register([0]))

  test('are added and removed, each with its audit entry, and the last one stays', async () => {
    expect(await add([1, 2])).toEqual({ kind: 'done' })
    expect((await events()).at(-1)).toMatchObject({ event: 'client_key_added', details: { keys: keysAt(1, 2) } })
    expect(await remove(0)).toEqual({ kind: 'done' })
    expect((await events()).at(-1)).toMatchObject({ event: 'client_key_removed', details: { key: stored[0] } })
    expect(await remove(1)).toEqual({ kind: 'done' })
    expect(await remove(2)).toEqual({ kind: 'only_key' })
    expect(await kids()).toEqual(['key-2'])
  })

  test('adding or removing the same ones again changes nothing', async () => {
    await add([1])
    const before = (await events()).length
    const stays = async () => (await present()).kind === 'keys' && (await kids()).length === 2
    expect([await add([1]), await add([0, 1]), await remove(7)]).toEqual(Array(3).fill({ kind: 'done' }))
    expect([await stays(), (await events()).length]).toEqual([true, before])
  })

  test('keys that are added keep the time and the use of the others', async () => {
    const used = `update client_keys set created_at = now() - interval '1 day', last_used_at = now() where client_id = $1`
    await given.world.run(used, [given.clientId])
    const [before] = await deps.keys.list(given.clientId)
    await add([1])
    expect((await deps.keys.list(given.clientId))[0]).toEqual(before)
  })

  test('another key with a kid that is in use is refused, and so is a ninth key', async () => {
    const other = { ...(stored[1] ?? {}), kid: 'key-0' }
    const adding = addAppKeys({ clientId: given.clientId, given: [other] }, given.alice, deps)
    expect(await adding).toEqual({ kind: 'kid_taken', kid: 'key-0' })
    expect(await add([1, 2, 3, 4, 5, 6, 7])).toEqual({ kind: 'done' })
    expect(await add([8])).toEqual({ kind: 'too_many' })
    expect(await kids()).toHaveLength(8)
  })

  test('keys that two owners add at the same moment are all there', async () => {
    await join(given.bob)
    const outcomes = await Promise.all(
      [1, 2, 3, 4, 5].map((index) => add([index], index % 2 ? given.alice : given.bob))
    )
    expect(outcomes).toEqual(Array(5).fill({ kind: 'done' }))
    expect(await kids()).toEqual(['key-0', 'key-1', 'key-2', 'key-3', 'key-4', 'key-5'])
  })

  test('of the last two, two owners at the same moment remove one', async () => {
    await join(given.bob)
    await add([1])
    const outcomes = await Promise.all([remove(0, given.alice), remove(1, given.bob)])
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['done', 'only_key'])
    expect(await kids()).toHaveLength(1)
  })

  test('an app with a secret or an address has no registered keys to add to', async () => {
    await publish('https://app.example/jwks.json')
    expect(await add([1])).toEqual({ kind: 'stale' })
    expect(await remove(0)).toEqual({ kind: 'done' })
    await takeSecret()
    expect(await add([1])).toEqual({ kind: 'stale' })
    expect(await kids()).toEqual(['secret'])
  })

  test('others get the response of an unknown app', async () => {
    const mallory = await newActor(given.world)
    const answers = [await add([1], mallory), await remove(0, mallory), await add([1], given.bob)]
    expect(answers).toEqual(Array(3).fill({ kind: 'unknown_app' }))
    expect(await kids()).toEqual(['key-0'])
  })
})

async function join(actor: Actor): Promise<void> {
  const { clientId, alice } = given
  await inviteOwner({ clientId, username: actor.user.username, transfers: false }, alice, given.deps)
  await decideInvitation({ clientId, accept: true }, actor, given.deps)
}

describe.each([
  { name: 'add', change: (actor: Actor, own: AppKeyDeps) => add([2], actor, own) },
  { name: 'remove', change: (actor: Actor, own: AppKeyDeps) => remove(0, actor, own) },
  {
    name: 'change to an address',
    change: async (actor: Actor, own: AppKeyDeps) => {
      const source = { keys: [], jwksUri: 'https://app.example/jwks.json' }
      return useKeys({ clientId: given.clientId, known: await known(), source }, actor, own)
    }
  },
  {
    name: 'change to a secret',
    change: async (actor: Actor, own: AppKeyDeps) =>
      useSecret({ clientId: given.clientId, known: await known() }, actor, own)
  }
])('$name', ({ change }) => {
  beforeEach(() => register([0, 1]))

  /** Dependencies with which `act` happens once, after the app and its keys were read and before the change is stored. */
  function meanwhile(act: () => Promise<unknown>): AppKeyDeps {
    let acting: Promise<unknown> | undefined
    const list = async (clientId: string) => {
      const found = await deps.keys.list(clientId)
      acting ??= act()
      await acting
      return found
    }
    return { ...deps, keys: { list } }
  }

  test('by an owner who is removed while the request is read changes nothing', async () => {
    const { clientId, alice, bob } = given
    await join(bob)
    const removing = meanwhile(() => removeOwner({ clientId, userId: bob.user.userId }, alice, given.deps))
    expect(await change(bob, removing)).toEqual({ kind: 'unknown_app' })
    expect(await kids()).toEqual(['key-0', 'key-1'])
  })

  test('in a session that ends while the request is read changes nothing', async () => {
    const { userId } = given.alice.user
    const ending = meanwhile(() => createUserStore(given.world.database).endSessions(userId))
    expect(await change(given.alice, ending)).toEqual({ kind: 'session_ended' })
    given.alice = await actorOf(given.world, given.alice.user)
    expect(await kids()).toEqual(['key-0', 'key-1'])
  })

  test('while an operator changes the client keeps that change', async () => {
    const renaming = meanwhile(() =>
      given.world.run("update clients set name = 'Renamed' where client_id = $1", [given.clientId])
    )
    await change(given.alice, renaming)
    const app: DeveloperApp = await appOf(given.alice, given.clientId, given.deps)
    expect(app.settings.name).toBe('Renamed')
    expect(await kids()).not.toEqual(['key-0', 'key-1'])
  })

  test('of an app that an operator disabled, or that waits for approval, acts at once and keeps its revision', async () => {
    const { revision } = await appOf(given.alice, given.clientId, given.deps)
    await given.world.run('update clients set disabled_at = now(), verified_at = now() where client_id = $1', [
      given.clientId
    ])
    await change(given.alice, deps)
    expect(await kids()).not.toEqual(['key-0', 'key-1'])
    const after = await appOf(given.alice, given.clientId, given.deps)
    expect([after.revision, after.verified, after.state]).toEqual([revision, true, 'disabled'])
  })
})
