import { createReadStream } from 'node:fs'
import { type Command, Option } from 'commander'
import { MOST_LOGO_BYTES } from '../../platform/clients/encode-logo.js'
import type { OptionHelp } from '../../storage/client-setting-kinds.js'
import {
  CLIENT_SETTINGS,
  type ClientSettingsTable,
  namesOfKind,
  SETTING_NAMES,
  type SettingName
} from '../../storage/client-settings-table.js'
import type { ClientLogoStore } from '../../storage/postgres/client-logos.js'
import { storeLogo } from '../use-cases/client-branding.js'
import type { ClientSettings } from '../use-cases/client-members.js'
import { readLifetime } from './duration.js'
import { CommandFailure } from './exit.js'

/** A value of each kind as commander reads it. */
type OptionOfKind = {
  name: string
  texts: readonly string[]
  scopes: readonly string[]
  flag: boolean
  choice: string
  text: string
  url: string
  /** Path of a file. */
  logo: string
  /** A duration, or "default". */
  seconds: string
  method: string
  /** Path of a file. */
  keys: string
  key_uri: string
}

type OptionName<Name extends SettingName> = ClientSettingsTable[Name] extends { option: infer Option extends string }
  ? Option
  : Name

export type ClientOptions = {
  [Name in SettingName as OptionName<Name>]?: OptionOfKind[ClientSettingsTable[Name]['kind']]
}

export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value]
}

/** Adds the options of these settings. With `update`, an empty text removes what pages show. */
export function addSettingOptions(command: Command, use: 'create' | 'update', names: readonly SettingName[]): Command {
  for (const name of names) {
    for (const [flags, help] of Object.entries<OptionHelp>(CLIENT_SETTINGS[name].options)) {
      const text = typeof help === 'string' ? help : help[use]
      if (text !== undefined) command.addOption(settingOption(name, new Option(flags, text), use))
    }
  }
  return command
}

function settingOption(name: SettingName, option: Option, use: 'create' | 'update'): Option {
  const setting = CLIENT_SETTINGS[name]
  if (setting.kind === 'texts' || setting.kind === 'scopes') option.argParser(collect)
  if (use === 'update') return option
  if (setting.kind === 'choice') option.default(setting.initial)
  return option.makeOptionMandatory('isRequired' in setting)
}

/** Encodes and stores the file of `--logo`. @returns undefined without the option, null for an empty one */
export async function readLogo(
  { logo: file }: Pick<ClientOptions, 'logo'>,
  logos: Pick<ClientLogoStore, 'save'>
): Promise<string | null | undefined> {
  if (file === undefined) return undefined
  return file === '' ? null : storeLogo(await readStart(file), logos)
}

/** One byte more than a logo may have shows that the file is too large. */
async function readStart(file: string): Promise<Buffer> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of createReadStream(file, { end: MOST_LOGO_BYTES })) chunks.push(chunk)
    return Buffer.concat(chunks)
  } catch {
    throw new CommandFailure('usage', `the logo ${file} cannot be read; pass the path of a file`)
  }
}

/** The settings without those that are files: `readLogo` and `readKeysFile` read them. */
export function settingsOf(options: ClientOptions): ClientSettings {
  const given: Readonly<Record<string, unknown>> = options
  const settings: Record<string, unknown> = {}
  for (const name of SETTING_NAMES) {
    const setting = CLIENT_SETTINGS[name]
    const value = given['option' in setting ? setting.option : name]
    if (value !== undefined && setting.kind !== 'logo' && setting.kind !== 'keys') settings[name] = value
  }
  for (const name of namesOfKind('seconds')) {
    const [flags = ''] = Object.keys(CLIENT_SETTINGS[name].options)
    settings[name] = readLifetime(options[name], flags.replace(/ .*/, ''))
  }
  return settings
}
