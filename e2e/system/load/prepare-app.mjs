// Creates a user, a client with remembered consent, and an API, for programs and tests on a cluster.
import { createCodeSource } from './code-source.mjs'

const REDIRECT_URI = 'https://app.example/callback'

/** See start-cluster.d.mts for the parameter and prepare-app.d.mts for the result. */
export async function prepareApp({ issuer, resource, valetkey }) {
  const account = { username: 'alice', password: 'correct horse battery staple' }
  const created = ['users', 'create', account.username, '--password-stdin', '--json']
  const { user_id: userId } = await valetkey(created, { input: account.password })
  const registered = ['resource-servers', 'create', '--name', 'files', '--audience', resource, '--json']
  const resourceServer = await valetkey(registered)

  /** Creates another client, with a source of codes. */
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

/** Path and query of an authorization request. */
export function authorizePath({ client_id: clientId }) {
  const query = { response_type: 'code', client_id: clientId, redirect_uri: REDIRECT_URI, scope: 'files.read' }
  return `/oauth/authorize?${new URLSearchParams(query)}`
}

/** The form for the exchange of a code. */
export const exchangeForm = (code) => ({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI })
