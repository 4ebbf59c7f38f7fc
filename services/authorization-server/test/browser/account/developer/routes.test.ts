import { expect, test } from '@jest/globals'
import { ISSUER, startTestServer } from '../../../support/authorization-server.js'
import { APPS } from '../../../support/developer.js'
import { PASSWORD } from '../../../support/flow.js'
import { signedInBrowser } from '../../../support/pages.js'

test('DEVELOPER_APPS=off: there are no such pages and no link to them', async () => {
  const off = await startTestServer()
  try {
    await off.createUser('alice', PASSWORD)
    const someone = await signedInBrowser(off)
    expect((await someone.get(APPS)).statusCode).toBe(404)
    expect((await someone.open(`${ISSUER}/account/apps`)).body).not.toContain('/account/developer')
  } finally {
    await off.close()
  }
})
