import { type CanonicalName, canonicalName, problemOfUserName } from '@valetkey/sign-in-rules'
import { readName } from '../../platform/clients/client-name.js'
import { MOST_TESTERS } from './app-people-store.js'
import { type Actor, changeOwnApp, type OwnAppDeps, type Refused, recordOwnChange } from './own-apps.js'

type Command = { clientId: string; username: string }

/** Lets a user use the app before it is approved. The outcome is the same whether the user exists or not. */
export async function addTester(
  { clientId, username: given }: Command,
  actor: Actor,
  deps: OwnAppDeps
): Promise<{ kind: 'done' | 'malformed_name' | 'too_many' } | Refused> {
  const read = readName(given)
  if (read.kind !== 'name' || problemOfUserName(read.name) !== undefined) return { kind: 'malformed_name' }
  const { name: username } = read
  return changeOwnApp<{ kind: 'done' | 'too_many' }>(clientId, actor, deps, async (app) => {
    if (!isTester(app.testers, canonicalName(username)) && app.testers.length >= MOST_TESTERS)
      return { kind: 'too_many' }
    const event = { event: 'app_tester_added', clientId, details: { username } } as const
    const make = recordOwnChange(event, actor, (note) => deps.people.addTester(actor.user, app, username, note))
    return (await make) ? { kind: 'done' } : undefined
  })
}

/** Removes a tester, and ends the access that this user gave to the app, unless it is approved. */
export async function removeTester(
  { clientId, username }: Command,
  actor: Actor,
  deps: OwnAppDeps
): Promise<{ kind: 'done' } | Refused> {
  const name = canonicalName(username)
  return changeOwnApp(clientId, actor, deps, async (app) => {
    if (!isTester(app.testers, name)) return { kind: 'done' as const }
    const event = { event: 'app_tester_removed', clientId, details: { username } } as const
    const make = recordOwnChange(event, actor, (note) => deps.people.removeTester(actor.user, app, name, note))
    return (await make) ? { kind: 'done' as const } : undefined
  })
}

const isTester = (testers: readonly string[], name: CanonicalName): boolean =>
  testers.some((tester) => canonicalName(tester) === name)
