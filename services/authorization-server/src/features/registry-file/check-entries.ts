import type { ClientAdministration } from '../../operator/use-cases/administer-client.js'
import { requireAudience } from '../../operator/use-cases/administer-resource-servers.js'
import { requireScopeName, toTexts } from '../../operator/use-cases/administer-scopes.js'
import type { ClientSettings } from '../../operator/use-cases/client-members.js'
import { newClient, requireKnownScopes, withSettings } from '../../operator/use-cases/client-settings.js'
import { findAudience, type RegisteredApis } from '../../operator/use-cases/find-audience.js'
import { requireName } from '../../operator/use-cases/name-of-record.js'
import { requireClientIdentifier } from '../../operator/use-cases/require-client-identifier.js'
import { requireLanguageTag } from '../../operator/use-cases/require-language-tag.js'
import { CLIENT_SETTINGS, type SettingName } from '../../storage/client-settings-table.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { Mistakes } from './mistakes.js'
import { type ClientEntry, type ResourceServerEntry, type ScopeEntry, settingsOf } from './registry-document.js'

/** Scopes and APIs that an entry may name. */
export type Registered = RegisteredApis & Pick<ClientAdministration, 'scopes'>

/**
 * Checks each member of an entry by itself, so that each mistake has its place.
 * @returns the entry with name and title as they are stored, which may have fewer spaces; without a title that is a mistake
 */
export async function checkResourceServer(
  entry: ResourceServerEntry,
  place: string,
  mistakes: Mistakes
): Promise<ResourceServerEntry> {
  const { client_id, name: givenName, audience, title: givenTitle, title_in: titleIn = {}, dpop } = entry
  await mistakes.check(`${place}.client_id`, () => requireClientIdentifier(client_id))
  const name = await mistakes.check(`${place}.name`, () => requireName(givenName))
  await mistakes.check(`${place}.audience`, () => requireAudience(audience))
  const title =
    givenTitle === undefined
      ? undefined
      : await mistakes.check(`${place}.title`, () => requireName(givenTitle, 'a title'))
  const titles: Record<string, string> = {}
  for (const [language, text] of Object.entries(titleIn)) {
    await mistakes.check(`${place}.title_in.${language}`, () => {
      requireLanguageTag(language)
      titles[language] = requireName(text, 'a title')
    })
  }
  return {
    client_id,
    name: name ?? givenName,
    audience,
    ...(title !== undefined && { title }),
    ...(entry.title_in !== undefined && { title_in: titles }),
    ...(dpop !== undefined && { dpop })
  }
}

/** @returns the audience of the scope's API; undefined for the default API */
export async function checkScope(
  { name, title, description = '', translations = {}, resource }: ScopeEntry,
  place: string,
  later: Registered,
  mistakes: Mistakes
): Promise<string | undefined> {
  const texts = { title: 'a title', description: '', translations: {} }
  await mistakes.check(`${place}.name`, () => requireScopeName(name))
  await mistakes.check(`${place}.title`, () => toTexts({ ...texts, title }))
  await mistakes.check(`${place}.description`, () => toTexts({ ...texts, description }))
  for (const [language, translation] of Object.entries(translations)) {
    const only = { [language]: translation }
    await mistakes.check(`${place}.translations.${language}`, () => toTexts({ ...texts, translations: only }))
  }
  return resource === undefined ? undefined : mistakes.check(`${place}.resource`, () => findAudience(resource, later))
}

/** Accepts each valid setting, whatever the others are. */
const ANY_CLIENT: NewClient = {
  ...newClient('any', 'confidential'),
  name: 'Any',
  redirectUris: ['https://any.example/callback'],
  requiredScopes: ['any'],
  optionalScopes: ['any']
}

export async function checkClient(entry: ClientEntry, place: string, later: Registered, mistakes: Mistakes) {
  const { client_id: clientId, scope = '', optional_scope: optionalScope = '', redirect_uris, resources = [] } = entry
  const {
    requiredScopes: _required,
    optionalScopes: _optional,
    redirectUris: _uris,
    resources: _apis,
    // They must fit each other.
    authMethod: _method,
    jwks: _keys,
    jwksUri: _keysAddress,
    profile: _profile,
    ...others
  } = settingsOf(entry)
  const accept = (member: string, settings: ClientSettings) =>
    mistakes.check(`${place}.${member}`, () => withSettings(ANY_CLIENT, settings, later))
  await mistakes.check(`${place}.client_id`, () => requireClientIdentifier(clientId))
  for (const [index, uri] of redirect_uris.entries()) await accept(`redirect_uris[${index}]`, { redirectUris: [uri] })
  for (const [index, api] of resources.entries()) await accept(`resources[${index}]`, { resources: [api] })
  for (const [member, list] of Object.entries({ scope, optional_scope: optionalScope })) {
    await mistakes.check(`${place}.${member}`, () => requireKnownScopes(toNames(list), later.scopes))
  }
  for (const [setting, value] of Object.entries(others)) {
    await accept(CLIENT_SETTINGS[setting as SettingName].member, { [setting]: value })
  }
}

function toNames(list: string): string[] {
  return list.split(/\s+/).filter((name) => name !== '')
}
