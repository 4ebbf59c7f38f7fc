import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { descendantsOf, isAlive } from '../support/process-tree.js'
import { createStandInCheckout, type StandInCheckout, TEST_LIMIT_MS } from '../support/stand-in-checkout.js'

jest.setTimeout(TEST_LIMIT_MS)

let checkout: StandInCheckout
beforeAll(async () => {
  checkout = await createStandInCheckout()
})
afterAll(() => checkout.dispose())

// On the emulation of Redis, the authorization server ends itself.
test('npm start with services that ignore SIGTERM: kills them after 10 seconds, names them, and leaves no process', async () => {
  const launcher = checkout.start('start.mjs', [], { STAND_IN_IGNORES: 'SIGTERM' })
  await launcher.untilRunning()
  const below = descendantsOf(launcher.child.pid ?? 0)
  launcher.child.kill('SIGTERM')
  const { code, stderr } = await launcher.ended
  expect(code).toBe(0)
  for (const name of ['authorization server', 'resource server', 'demo client']) {
    expect(stderr).toContain(`The ${name} did not stop within 10 seconds; killing it.`)
  }
  expect(below.filter(isAlive)).toEqual([])
})
