import { type Client, leadsToOwnDevice } from '@valetkey/oauth-protocol'

/** What the consent page says about a client that no operator registered. */
export type UnregisteredApp = {
  /** The only name that was verified: its server sent the document. */
  clientIdHost: string
  /** The name in the document. */
  name: string
  /** Empty if the response goes to a program on the user's device. */
  redirectHost: string
  /** It gets no access without a key that the server of its document publishes. Nothing has proved it yet. */
  mustProveKey: boolean
}

/** @returns undefined for a registered client */
export function unregisteredApp(client: Client, redirectUri: string): UnregisteredApp | undefined {
  if (client.isDiscovered !== true) return undefined
  const redirectHost = leadsToOwnDevice(redirectUri) ? '' : new URL(redirectUri).host
  const mustProveKey = client.privateKeyJwt === 'required'
  return { clientIdHost: new URL(client.clientId).host, name: client.name, redirectHost, mustProveKey }
}
