import { expect, test } from '@jest/globals'
import { StoreUnavailable } from '@valetkey/service-kit'
import { authorizeUrl, exchange } from '../../support/flow.js'
import { startInstance } from '../../support/instance.js'
import { refusingServer } from '../../support/refused-requests.js'

const world = refusingServer()

test('an anonymous flood of two processes keeps the rows of authenticated requests, and stores a bounded number of rows', async () => {
  const other = await startInstance(world.server)
  await exchange(world.server, world.client, 'vk_ac_x')
  await world.server.deps.refusals.close()
  const addresses = Array.from({ length: 100 }, (_, index) => `10.1.0.${index}`)
  await Promise.all(
    [world.server, other].flatMap(({ publicServer }) =>
      addresses.map((remoteAddress) =>
        publicServer.inject({
          remoteAddress,
          url: authorizeUrl(world.client.clientId, { redirect_uri: 'https://evil.example' })
        })
      )
    )
  )
  await other.close()
  const found = await world.listed()
  expect(found.filter(({ authenticated }) => authenticated)).toHaveLength(1)
  expect(found).toHaveLength(11)
})

test('a store that is unavailable or stalls delays no response', async () => {
  const [reached, released] = [signal(), signal()]
  let refuses = true
  const instance = await startInstance(world.stores, {
    wrap: (database) => ({
      ...database,
      async query(statement) {
        if (statement.name === 'append_client_refusals') {
          if (refuses) throw new StoreUnavailable('postgres', undefined)
          reached.give()
          await released.given
        }
        return database.query(statement)
      }
    })
  })
  const refuse = async () => (await exchange(instance, { ...world.client, clientSecret: 'wrong' }, 'x')).statusCode
  expect(await refuse()).toBe(401)
  await instance.deps.refusals.close()
  expect(instance.deps.refusals.dropped()).toEqual({ limit: 0, store: 1 })
  refuses = false
  expect(await refuse()).toBe(401)
  const writing = instance.deps.refusals.close()
  await reached.given
  expect(await refuse()).toBe(401)
  expect(await world.listed()).toEqual([])
  released.give()
  await writing
  await instance.close()
  expect(await world.listed()).toHaveLength(2)
})

function signal() {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { give, given }
}
