import { expect, test } from '@jest/globals'
import { giveAccountLink } from '../../../../src/operator/use-cases/give-account-link.js'
import { ISSUER, startTestServer } from '../../../support/authorization-server.js'
import { OPERATOR } from '../../../support/command-line.js'
import { PASSWORD } from '../../../support/flow.js'
import { addressesOn } from '../../../support/page-content.js'

const author = { actor: { kind: 'command_line', name: OPERATOR } } as const

test('an invitation offers a password and each provider, with the token for that provider', async () => {
  const providers = [
    { id: 'acme', label: 'Acme', issuer: 'https://id.example', client_id: 'x', client_secret: 'y'.repeat(32) }
  ]
  const server = await startTestServer({ SIGN_IN_PROVIDERS: JSON.stringify(providers) })
  try {
    const invited = await server.createUser('bob', PASSWORD)
    const command = { userId: invited, purpose: 'invitation' } as const
    const { url } = await giveAccountLink(command, author, server.deps.admin.users)
    const page = await server.newBrowser().open(url)
    const token = new URL(url).searchParams.get('token')
    expect(page.body).toContain('name="new_password"')
    const link = `${ISSUER}/login/with/acme?purpose&#x3D;invitation&amp;token&#x3D;${token}`
    expect(addressesOn(page.body)).toContain(link)
  } finally {
    await server.close()
  }
})
