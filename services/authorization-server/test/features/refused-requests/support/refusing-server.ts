import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals'
import {
  createClientRefusalStore,
  MOST_REFUSALS,
  type StoredClientRefusal
} from '../../../../src/features/refused-requests/client-refusal-store.js'
import { type Credentials, startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { clearCounters } from '../../../support/counters.js'
import { PASSWORD } from '../../../support/flow.js'
import { startInstance } from '../../../support/instance.js'
import { writeRest } from '../../../support/write-rest.js'

type RefusingServer = {
  stores: TestServer
  /** New for each test, because the rows of an address are limited. */
  server: TestServer
  client: Credentials
  /** What the developer of a client sees, after the rows are written. */
  listed(of?: Credentials): Promise<StoredClientRefusal[]>
  /** The only refusal of the client. */
  onlyRefusal(): Promise<StoredClientRefusal | undefined>
}

/** A server with the user alice, and a new client and process for each test of a file. */
export function refusingServer(): RefusingServer {
  const world = {} as RefusingServer
  beforeAll(async () => {
    world.stores = await startTestServer()
    await world.stores.createUser('alice', PASSWORD)
  })
  afterAll(() => world.stores.close())
  beforeEach(async () => {
    world.server = await startInstance(world.stores)
    world.client = await world.server.createClient()
  })
  afterEach(async () => {
    await clearCounters(world.stores)
    await world.server.close()
  })
  world.listed = async (of = world.client) => {
    await writeRest(world.server)
    return createClientRefusalStore(world.server.database).list(of.clientId, MOST_REFUSALS)
  }
  world.onlyRefusal = async () => {
    const [refusal, ...rest] = await world.listed()
    expect(rest).toEqual([])
    return refusal
  }
  return world
}
