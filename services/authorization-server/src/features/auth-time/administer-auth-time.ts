import type { Author } from '../../operator/use-cases/actor.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import type { AuthTimeStore } from './auth-time-store.js'

export type AuthTimeAdministration = { authTimes: AuthTimeStore }

/** What operators see. `auth_time`: whether introspection says when the user signed in. */
type AuthTimeDocument = { client_id: string; audience: string; auth_time: boolean }

export async function readAuthTime(clientId: string, { authTimes }: AuthTimeAdministration): Promise<AuthTimeDocument> {
  const found = await authTimes.find(clientId)
  if (found === undefined) throw new AdministrationError('not_found', `there is no resource server ${clientId}`)
  return { client_id: clientId, audience: found.audience, auth_time: found.isMarked }
}

/** Sets it for an API with all of its credentials. Tokens of users who allowed the app before stay as they are. */
export async function setAuthTime(
  { clientId, isMarked }: { clientId: string; isMarked: boolean },
  author: Author,
  deps: AuthTimeAdministration
): Promise<AuthTimeDocument> {
  const { audience, auth_time: before } = await readAuthTime(clientId, deps)
  if (before !== isMarked) {
    const details = { audience, changes: { authTime: { from: before, to: isMarked } } }
    const event = { event: 'resource_server_updated', clientId, details } as const
    await recordChange(event, author, (note) => deps.authTimes.set(clientId, isMarked, note))
  }
  return { client_id: clientId, audience, auth_time: isMarked }
}
