import type { Client } from '@valetkey/oauth-protocol'

/**
 * Whether a user's earlier consent counts. Nobody knows who really runs a public client, so it is asked for each time,
 * whatever its record says (RFC 8252 §8.6).
 */
export function remembersConsent(client: Pick<Client, 'consent' | 'type'>): boolean {
  return client.consent === 'remember' && client.type === 'confidential'
}
