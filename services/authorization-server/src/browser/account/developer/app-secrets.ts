import { hashToken, mintOpaqueToken, secretIdOf } from '@valetkey/oauth-protocol'
import { type Actor, changeOwnApp, type OwnAppDeps, type Refused, recordOwnChange } from './own-apps.js'

/** The number of secrets that the comparison in constant time supports. */
const MOST_LIVE = 2

type Added =
  /** @property clientSecret shown once */
  { kind: 'created'; clientSecret: string; secretId: string } | { kind: 'two_are_live' | 'public' }

/**
 * Adds a secret. The old one stays valid until it is deleted, so that the app can switch without a gap. The page requires a fresh
 * sign-in.
 */
export async function addAppSecret(clientId: string, actor: Actor, deps: OwnAppDeps): Promise<Added | Refused> {
  return changeOwnApp<Added>(clientId, actor, deps, async ({ type }) => {
    if (type === 'public') return { kind: 'public' }
    const found = await deps.clients.findVersion(clientId)
    const live = (await deps.secrets.list(clientId)).filter((secret) => secret.live)
    if (live.length >= MOST_LIVE) return { kind: 'two_are_live' }
    // After the version of the client was read: an owner who has been removed since gave it a new one.
    if (found === undefined || !(await isStillOwner(clientId, actor, deps))) return undefined
    const clientSecret = mintOpaqueToken('clientSecret', deps.randomBytes)
    const hash = hashToken(clientSecret)
    const secretId = secretIdOf(hash)
    const event = { event: 'client_secret_rotated', clientId, details: { secretId } } as const
    const { version } = found
    const added = await recordOwnChange(event, actor, (note) =>
      deps.clients.addSecret({ clientId, version }, { hash, othersUntil: undefined }, note)
    )
    return added ? { kind: 'created', clientSecret, secretId } : undefined
  })
}

type Deleted = { kind: 'done' | 'only_live_secret' }

/** Ends a secret at once, except the last live one: without it, the app could not authenticate. */
export async function deleteAppSecret(
  { clientId, secretId }: { clientId: string; secretId: string },
  actor: Actor,
  deps: OwnAppDeps
): Promise<Deleted | Refused> {
  return changeOwnApp<Deleted>(clientId, actor, deps, async () => {
    const found = await deps.clients.findVersion(clientId)
    const all = await deps.secrets.list(clientId)
    const secret = all.find((each) => each.secretId === secretId)
    if (secret === undefined) return { kind: 'done' }
    if (secret.live && all.filter(({ live }) => live).length === 1) return { kind: 'only_live_secret' }
    if (found === undefined || !(await isStillOwner(clientId, actor, deps))) return undefined
    const event = { event: 'client_secret_deleted', clientId, details: { secretId } } as const
    const { version } = found
    const deleted = await recordOwnChange(event, actor, (note) =>
      deps.clients.removeSecret({ clientId, version }, secretId, note)
    )
    return deleted ? { kind: 'done' } : undefined
  })
}

async function isStillOwner(clientId: string, { user }: Actor, { apps }: OwnAppDeps): Promise<boolean> {
  return (await apps.findOwn(user.userId, clientId)) !== undefined
}
