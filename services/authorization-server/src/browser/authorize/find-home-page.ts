import { isClientId } from '@valetkey/oauth-protocol'
import type { ClientStore } from '../../storage/postgres/clients.js'

/**
 * Undefined unless the client is registered, enabled, published, seen by an operator and has a home page. Name and home page of other
 * clients are what any user chose.
 */
export async function findHomePage(
  clientId: string | undefined,
  { clients }: { clients: Pick<ClientStore, 'find'> }
): Promise<{ name: string; homePage: string } | undefined> {
  if (clientId === undefined || !isClientId(clientId)) return undefined
  const client = await clients.find(clientId)
  if (client === undefined || client.disabled || client.isDiscovered === true) return undefined
  if (client.isUnpublished === true || client.isUnreviewed === true) return undefined
  const { homePage } = client.branding
  return homePage === undefined ? undefined : { name: client.name, homePage }
}
