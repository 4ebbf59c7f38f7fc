import { randomUUID } from 'node:crypto'
import { canonicalName } from '@valetkey/sign-in-rules'
import type { AppInput } from '../../../../src/features/developer-apps/app-input.js'
import { createApp } from '../../../../src/features/developer-apps/create-app.js'
import type { DeveloperApp } from '../../../../src/features/developer-apps/developer-app-store.js'
import type { Actor, OwnAppDeps } from '../../../../src/features/developer-apps/own-apps.js'
import { wireOwnApps } from '../../../../src/features/developer-apps/wire-developer-apps.js'
import { createScopeStore } from '../../../../src/storage/postgres/scopes.js'
import { createStores, type Stores } from '../../../../src/wire/stores.js'
import { NOTE } from '../../../support/audit-note.js'
import { createMigratedDatabase, type MigratedDatabase } from '../../../support/migrated-database.js'
import { NEW_SCOPE } from '../../../support/new-scope.js'
import { openSessionOf } from '../../../support/sessions.js'

const APP_REDIRECT = 'https://app.example/callback'

/** @property database of a test server or alone */
type World = Pick<MigratedDatabase, 'database'>

/** The stores of the service, without Redis. */
export function appStores({ database }: World): Stores {
  const watched = { batchOf: () => () => {}, registryBypassed: () => {} }
  const noRedis = new Proxy({}, { get: () => () => ({}) }) as never
  return createStores({
    database,
    redis: noRedis,
    records: noRedis,
    watched,
    isDiscoverable: () => false,
    hasEnded: () => false,
    signInAtLeastEvery: 0,
    limitsFactor: 1
  })
}

/** The use cases of users on a database, as the service wires them. */
export function ownAppDeps(world: World, mode: 'approved' | 'open' = 'approved'): OwnAppDeps {
  const deps = wireOwnApps({
    config: { developerApps: mode, productName: 'Valetkey' },
    database: world.database,
    stores: appStores(world)
  })
  if (deps === undefined) throw new Error('DEVELOPER_APPS is off')
  return deps
}

/** A database with the scope of `appInput`, and the use cases on it. */
export async function openOwnApps() {
  const world = await createMigratedDatabase()
  await releaseScope(world, 'notes.read')
  return { world, deps: ownAppDeps(world) }
}

/** A scope that users may choose, as operators release it. */
export async function releaseScope({ database }: World, name: string): Promise<void> {
  await createScopeStore(database).create({ ...NEW_SCOPE, name, title: name, isSelfService: true }, NOTE)
}

/** A new user who is signed in. */
export async function newActor({ database }: World, username = `user-${randomUUID()}`): Promise<Actor> {
  const userId = randomUUID()
  await database.query({
    name: 'test_insert_developer',
    text: 'insert into users (user_id, username, canonical_name, created_at) values ($1, $2, $3, now())',
    values: [userId, username, canonicalName(username)]
  })
  return actorOf({ database }, { userId, username })
}

/** A new session of a user. */
export async function actorOf(
  { database }: World,
  { userId, username }: { userId: string; username: string }
): Promise<Actor> {
  const user = {
    userId,
    username,
    sessionHash: await openSessionOf(database, userId),
    way: { kind: 'password' } as never,
    authenticatedAt: Date.now(),
    endsAt: new Date(Date.now() + 3_600_000),
    encryptedIdToken: undefined
  }
  const log = { info: () => {}, error: () => {} }
  return { user, request: { id: randomUUID(), ip: '192.0.2.1', log } }
}

let number = 0

/** Valid fields with a unique name. */
export function appInput(change: Partial<AppInput> = {}): AppInput {
  number += 1
  const name = `Paper Boat ${Array.from(String(number), (digit) => 'qwertzupkh'[Number(digit)]).join('')}`
  return {
    name,
    redirectUris: [APP_REDIRECT],
    requiredScopes: ['notes.read'],
    optionalScopes: [],
    branding: {},
    ...change
  }
}

/** Registers an app. @returns its client id and secret */
export async function registerApp(
  actor: Actor,
  deps: OwnAppDeps,
  { type = 'confidential', ...change }: Partial<AppInput> & { type?: 'confidential' | 'public' } = {}
): Promise<{ clientId: string; clientSecret: string }> {
  const outcome = await createApp({ ...appInput(change), type }, actor, deps)
  if (outcome.kind !== 'created') throw new Error(`not created: ${JSON.stringify(outcome)}`)
  return { clientId: outcome.clientId, clientSecret: outcome.clientSecret ?? '' }
}

/** An app of the actor, which must exist. */
export async function appOf(actor: Actor, clientId: string, { apps }: OwnAppDeps): Promise<DeveloperApp> {
  const app = await apps.findOwn(actor.user.userId, clientId)
  if (app === undefined) throw new Error(`no app ${clientId}`)
  return app
}
