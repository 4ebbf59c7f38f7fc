// A user, an app that the user has allowed for good, and an API: where programs and tests on a cluster begin.
import { createCodeSource } from './code-source.mjs'

const REDIRECT_URI = 'https://app.example/callback'

/** start-cluster.d.mts says what a cluster is, and prepare-app.d.mts what comes back. */
export async function prepareApp({ issuer, resource, valetkey }) {
  const account = { username: 'alice', password: 'correct horse battery staple' }
  const created = ['users', 'create', account.username, '--password-stdin', '--json']
  const { user_id: userId } = await valetkey(created, { input: account.password })
  const registered = ['resource-servers', 'create', '--name', 'files', '--audience', resource, '--json']
  const resourceServer = await valetkey(registered)

  /** One more client, with codes for it. */
  async function addClient() {
    const registration = ['--name', 'Printer', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read']
    const client = await valetkey(['clients', 'create', ...registration, '--consent', 'remember', '--json'])
    const nextCode = await createCodeSource({
      ...{ issuer, clientId: client.client_id, redirectUri: REDIRECT_URI },
      ...account
    })
    return { client, nextCode }
  }

  return { userId, account, resourceServer, addClient }
}

/** The path and query with which a client asks. */
export function authorizePath({ client_id: clientId }) {
  const query = { response_type: 'code', client_id: clientId, redirect_uri: REDIRECT_URI, scope: 'files.read' }
  return `/oauth/authorize?${new URLSearchParams(query)}`
}

/** The form that exchanges a code. */
export const exchangeForm = (code) => ({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI })
