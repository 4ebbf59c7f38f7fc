import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import type { Actor, OwnAppDeps } from '../../../../src/features/developer-apps/own-apps.js'
import type { MigratedDatabase } from '../../../support/migrated-database.js'
import { newActor, openOwnApps, registerApp } from './developer-apps.js'

type OwnedApp = {
  world: MigratedDatabase
  deps: OwnAppDeps
  /** The owner of the app. */
  alice: Actor
  /** Another user. */
  bob: Actor
  clientId: string
}

/** One database for the tests of a file, and two new users and an app of one of them before each test. */
export function ownedApp(): OwnedApp {
  const given = {} as OwnedApp
  beforeAll(async () => {
    Object.assign(given, await openOwnApps())
  })
  beforeEach(async () => {
    given.alice = await newActor(given.world)
    given.bob = await newActor(given.world)
    given.clientId = (await registerApp(given.alice, given.deps)).clientId
  })
  afterAll(() => given.world.close())
  return given
}
