import {
  CLIENT_SETTINGS,
  type ClientSettingsTable,
  type NamesOfKind,
  SETTING_NAMES,
  type SettingKind,
  type SettingName,
  type SettingOfKind,
  settingsOfKind
} from '../../storage/client-settings-table.js'
import type { JwkSet } from '../../storage/postgres/client-keys.js'

/** A setting of each kind, for the use cases: null is no logo, or the server's value. */
type ValueOfKind = {
  name: string
  texts: readonly string[]
  /** Each element is one scope, or several separated by spaces. */
  scopes: readonly string[]
  flag: boolean
  choice: string
  text: string
  url: string
  logo: string | null
  seconds: number | null
  method: string
  keys: JwkSet
  key_uri: string
}

/** The same in JSON. */
type MemberOfKind = Omit<ValueOfKind, 'scopes' | 'logo'> & { scopes: string; logo: string }

/** The settings of a client. Undefined: unchanged. An empty text removes what pages show. */
export type ClientSettings = { [Name in SettingName]?: ValueOfKind[ClientSettingsTable[Name]['kind']] | undefined }

/** The settings that a document has. */
export type ClientMembers = {
  [Name in SettingName as ClientSettingsTable[Name]['member']]?: MemberOfKind[ClientSettingsTable[Name]['kind']]
}

/** The settings that a document can set: the logo is no text. */
export type GivenMembers = Omit<ClientMembers, ClientSettingsTable[NamesOfKind<'logo'>]['member']>

/** The settings of a document; a missing member is unchanged. */
export function settingsOfMembers(members: GivenMembers): ClientSettings {
  const given: Readonly<Record<string, unknown>> = members
  const settings: Record<string, unknown> = {}
  for (const name of SETTING_NAMES) {
    const { kind, member } = CLIENT_SETTINGS[name]
    const value = given[member]
    if (value !== undefined) settings[name] = kind === 'scopes' ? [value] : value
  }
  return settings
}

/** The members of a document with these settings, in the order of the table; without those that are not set. */
export function membersOfSettings(settings: ClientSettings): ClientMembers {
  const members: Record<string, unknown> = {}
  for (const name of SETTING_NAMES) {
    const { kind, member } = CLIENT_SETTINGS[name]
    const value = settings[name]
    if (value === undefined || value === null) continue
    members[member] = kind === 'scopes' && Array.isArray(value) ? value.join(' ') : value
  }
  return members
}

/** A value for the member of each setting of these kinds, such as its schema, in the order of the table. */
export function membersOfKind<Kind extends SettingKind, Value>(
  kinds: readonly Kind[],
  toValue: (setting: SettingOfKind<Kind>) => Value
) {
  const entries = settingsOfKind(...kinds).map((setting) => [setting.member, toValue(setting)])
  return Object.fromEntries(entries) as Record<SettingOfKind<Kind>['member'], Value>
}
