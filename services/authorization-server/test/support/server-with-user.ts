import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { startTestServer, type TestServer } from './authorization-server.js'
import { PASSWORD } from './flow.js'

type ServerWithUser = {
  server: TestServer
  username: string
  userId: string
  /** The user's `sub` at a provider or login page; not linked. */
  subject: string
}

/** One server for the tests of a file, and a new user with a password before each test. */
export function serverWithUser(...options: Parameters<typeof startTestServer>): ServerWithUser {
  const world = {} as ServerWithUser
  let number = 0
  beforeAll(async () => {
    world.server = await startTestServer(...options)
  })
  beforeEach(async () => {
    number += 1
    world.username = `user-${number}`
    world.subject = `person-${number}`
    world.userId = await world.server.createUser(world.username, PASSWORD)
  })
  afterAll(() => world.server.close())
  return world
}
