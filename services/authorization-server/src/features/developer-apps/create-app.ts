import { newClientIdentifier } from '@valetkey/oauth-protocol'
import { isUniqueViolation } from '@valetkey/service-kit'
import { nameKeys } from '@valetkey/sign-in-rules'
import { createClientSecret } from '../../platform/clients/client-secret-rules.js'
import { type AppInput, type Invalid, readAppInput } from './app-input.js'
import { MOST_APPS, MOST_PER_DAY } from './developer-app-change-store.js'
import type { AppSettings } from './developer-app-store.js'
import { type Actor, inTurnOfUser, type OwnAppDeps, recordOwnChange, type SessionEnded } from './own-apps.js'

type AppType = 'confidential' | 'public'

/** @property clientSecret shown once; undefined for a public client */
type Created = { kind: 'created'; clientId: string; clientSecret: string | undefined }

export type CreateOutcome = Created | Invalid | { kind: 'too_many_apps' | 'too_many_today' } | SessionEnded

/** Another request of the same user can take the same place, or another app the same name; each attempt looks again. */
const ATTEMPTS = 3

/** Registers an app of which the user is the owner. */
export async function createApp(
  app: AppInput & { type: AppType },
  actor: Actor,
  deps: OwnAppDeps
): Promise<CreateOutcome> {
  return inTurnOfUser(actor.user.userId, () => createNow(app, actor, deps))
}

async function createNow(
  { type, ...input }: AppInput & { type: AppType },
  actor: Actor,
  deps: OwnAppDeps
): Promise<CreateOutcome> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const read = await readAppInput(input, undefined, deps)
    if (read.kind === 'invalid') return read
    const { apps, today } = await deps.apps.countOf(actor.user.userId)
    if (apps >= MOST_APPS) return { kind: 'too_many_apps' }
    if (today >= MOST_PER_DAY) return { kind: 'too_many_today' }
    const created = await store(type, read.settings, actor, deps)
    if (created !== undefined) return created
  }
  return { kind: 'session_ended' }
}

/** @returns undefined if nothing was stored */
async function store(
  type: AppType,
  settings: AppSettings,
  actor: Actor,
  { mode, changes, randomBytes }: OwnAppDeps
): Promise<Created | undefined> {
  const clientId = newClientIdentifier(randomBytes)
  const secret = type === 'public' ? undefined : createClientSecret(randomBytes)
  const app = { ...settings, clientId, type, published: mode === 'open' }
  const details = { type, ...settings, ...(secret && { secretId: secret.secretId }) }
  const event = { event: 'app_registered', clientId, details } as const
  const credentials = { nameKeys: nameKeys(settings.name), secretHash: secret?.hash }
  const make = recordOwnChange(event, actor, (note) => changes.create(actor.user, app, credentials, note))
  return (await unlessTaken(make)) ? { kind: 'created', clientId, clientSecret: secret?.clientSecret } : undefined
}

/** @returns false if the name, or the place among the apps of the user, was taken at this moment */
export async function unlessTaken(change: Promise<boolean>): Promise<boolean> {
  return change.catch((error: unknown) => {
    if (isUniqueViolation(error)) return false
    throw error
  })
}
