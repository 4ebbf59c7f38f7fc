import { expect } from '@jest/globals'
import { ISSUER, type TestServer } from './authorization-server.js'
import { Browser } from './browser.js'
import { PASSWORD } from './flow.js'
import { startPausingInstance } from './pausing-instance.js'

/** Signs a user in at another process, which reads the user, then waits for `end`, and then opens the session. */
export async function signInDuring(server: TestServer, username: string, end: () => Promise<unknown>): Promise<void> {
  const { paused, pauses } = await startPausingInstance(server)
  try {
    pauses.next = { before: 'open_session', run: end }
    const browser = new Browser(paused.publicServer, paused.config.issuer)
    const page = await browser.open(`${ISSUER}/login`)
    expect((await browser.submitOnly(page, { username, password: PASSWORD })).statusCode).toBe(303)
    expect(pauses.next).toBeUndefined()
  } finally {
    await paused.close()
  }
}
