import { pointsMissingForFapi2 } from '@valetkey/oauth-protocol'
import type { NewClient } from '../../storage/postgres/clients.js'
import { AdministrationError } from './administration-error.js'
import type { ClientSettings } from './client-members.js'

/** What a client under `fapi2` has, unless the same request says otherwise; `requireProfile` refuses that. */
const SETTINGS_OF_FAPI2: ClientSettings = {
  requirePkce: true,
  requirePar: true,
  dpopBound: true,
  refreshRotation: false
}

/** The settings with those that their profile requires: who sets the profile need not repeat them. */
export function withSettingsOfProfile<Given extends ClientSettings>(given: Given, type: NewClient['type']): Given {
  if (given.profile !== 'fapi2') return given
  const hasKeys = type === 'confidential' && (given.jwks !== undefined || Boolean(given.jwksUri))
  const isGiven = ([, value]: [string, unknown]) => value !== undefined
  return {
    ...given,
    ...SETTINGS_OF_FAPI2,
    ...(hasKeys && { authMethod: 'private_key_jwt' }),
    ...Object.fromEntries(Object.entries(given).filter(isGiven))
  }
}

/** @throws {AdministrationError} `invalid` */
export function toProfile(given: string | undefined, current: NewClient['profile']): NewClient['profile'] {
  if (given === undefined) return current
  if (given === 'none') return undefined
  if (given === 'fapi2') return given
  throw new AdministrationError('invalid', 'profile must be none or fapi2')
}

/** What a client lacks for the profile `fapi2`. */
export function pointsMissing(client: NewClient): readonly string[] {
  return pointsMissingForFapi2({ ...client, keyAlgorithms: client.keys?.registered.map(({ alg }) => alg) ?? [] })
}

/** @throws {AdministrationError} `invalid`, with all that is missing, if the client is under a profile that it does not follow */
export function requireProfile(client: NewClient): void {
  const missing = client.profile === undefined ? [] : pointsMissing(client)
  if (missing.length === 0) return
  throw new AdministrationError('invalid', `the profile ${client.profile} does not allow this: ${missing.join('; ')}`)
}
