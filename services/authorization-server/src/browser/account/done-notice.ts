import type { FormParameters } from '@valetkey/oauth-protocol'
import type { Message } from '../../platform/i18n/language.js'
import type { ConnectedAppStore } from '../../storage/postgres/connected-apps.js'

type Shown = { userId: string; query: Pick<FormParameters, 'get'>; listed: readonly { clientId: string }[] }

/**
 * The notice for `?done=…`. The address has only the client id, so that it reveals no name. A link must not make the page say
 * something false: it names only apps that the user has allowed, and shows no notice if the app has access.
 */
export async function doneNotice(
  { userId, query, listed }: Shown,
  connectedApps: Pick<ConnectedAppStore, 'findNameOfAllowed'>
): Promise<Message | ''> {
  const done = query.get('done')
  if (done === 'shortened') return { key: 'account.shortened' }
  if (done === 'chosen') return { key: 'selections.changed' }
  const clientId = query.get('client_id')
  if (done !== 'ended' || listed.some((app) => app.clientId === clientId)) return ''
  const client = clientId === undefined ? undefined : await connectedApps.findNameOfAllowed(userId, clientId)
  return client === undefined ? { key: 'account.ended' } : { key: 'account.ended_app', values: { client } }
}
