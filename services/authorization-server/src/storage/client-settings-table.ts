/**
 * Each setting of a client, in the order of documents and help texts. From this table are made: the options of `valetkey clients`, the
 * members of `/admin/clients`, of the registry file and of documents, the fields of a developer's form, and the columns of what pages
 * show. CONTRIBUTING.md says how to add a setting.
 */
export const CLIENT_SETTINGS = {
  name: {
    kind: 'name',
    member: 'name',
    isRequired: true,
    description: 'The name on the consent page; 1 to 100 characters.',
    options: { '--name <text>': 'the name shown on the consent page' }
  },
  redirectUris: {
    kind: 'texts',
    member: 'redirect_uris',
    isRequired: true,
    description: 'Redirect URIs, compared as complete strings.',
    option: 'redirectUri',
    options: {
      '--redirect-uri <uri>': {
        create: 'an allowed redirect URI; repeatable',
        update: 'replaces all redirect URIs; repeatable'
      }
    }
  },
  requiredScopes: {
    kind: 'scopes',
    member: 'scope',
    description: 'Required scopes, separated by spaces.',
    option: 'scope',
    options: {
      '--scope <list>': {
        create: 'required scopes, separated by spaces; repeatable',
        update: 'replaces all required scopes; repeatable'
      }
    }
  },
  optionalScopes: {
    kind: 'scopes',
    member: 'optional_scope',
    description: 'Scopes that the user may decline, separated by spaces.',
    option: 'optionalScope',
    options: {
      '--optional-scope <list>': {
        create: 'scopes that the user may decline; repeatable',
        update: 'replaces all optional scopes; "" for none'
      }
    }
  },
  resources: {
    kind: 'texts',
    member: 'resources',
    description: 'APIs that it is limited to, by name or audience of a resource server; empty: those of its scopes.',
    option: 'resource',
    options: {
      '--resource <api>': {
        create: 'an API that it is limited to: name or audience of a resource server; repeatable',
        update: 'replaces all APIs that it is limited to; "" for the APIs of its scopes'
      }
    }
  },
  refresh: {
    kind: 'flag',
    member: 'refresh',
    initial: true,
    description: 'Whether the client gets refresh tokens.',
    options: {
      '--refresh': { update: 'issue refresh tokens' },
      '--no-refresh': { create: 'issue no refresh tokens', update: 'issue and accept no refresh tokens' }
    }
  },
  requirePkce: {
    kind: 'flag',
    member: 'require_pkce',
    initial: false,
    description: 'Whether a code_challenge is required; always true for a public client.',
    options: {
      '--require-pkce': 'refuse requests without a code_challenge',
      '--no-require-pkce': { update: 'accept requests without a code_challenge' }
    }
  },
  consent: {
    kind: 'choice',
    member: 'consent',
    choices: ['ask', 'remember'],
    initial: 'ask',
    description: 'Ask every time, or only for new scopes.',
    options: { '--consent <policy>': 'ask (every time) or remember (ask only for new scopes)' }
  },
  verified: {
    kind: 'flag',
    member: 'verified',
    initial: false,
    description:
      'Whether an operator has verified who runs the client. A change of name, publisher or home page ends it, unless the same request sets it.',
    options: {
      '--verified': 'mark the client as verified on the consent page',
      '--no-verified': { update: 'mark the client as not verified' }
    }
  },
  homePage: {
    kind: 'url',
    member: 'home_page',
    words: 'home page',
    description: 'Address of the app’s home page; https. Empty: none.',
    options: { '--home-page <url>': 'the app’s home page; https' },
    label: 'developer.home_page'
  },
  publisher: {
    kind: 'text',
    member: 'publisher',
    most: 80,
    words: 'publisher',
    description: 'Who runs the app; up to 80 characters. Empty: none.',
    options: { '--publisher <text>': 'who runs the app: the name that --verified is about' },
    label: 'developer.publisher',
    advice: 'developer.publisher_advice',
    malformed: 'developer.publisher_malformed'
  },
  privacyPolicy: {
    kind: 'url',
    member: 'privacy_policy',
    words: 'privacy policy',
    description: 'Address of its privacy policy; https. Empty: none.',
    options: { '--privacy-policy <url>': 'its privacy policy; https' },
    label: 'developer.privacy_policy'
  },
  terms: {
    kind: 'url',
    member: 'terms',
    words: 'terms',
    description: 'Address of its terms; https. Empty: none.',
    options: { '--terms <url>': 'its terms; https' },
    label: 'developer.terms'
  },
  logo: {
    kind: 'logo',
    member: 'logo',
    description:
      'SHA-256 of the logo, which is at {issuer}/logos/HASH.png if the client is published; absent without one.',
    options: { '--logo <file>': 'its logo: a PNG, JPEG or WebP file of up to 1 MiB' }
  },
  accessTokenTtl: {
    kind: 'seconds',
    member: 'access_token_ttl',
    most: 30 * 86_400,
    description: 'Seconds; at most the server’s value.',
    options: { '--access-token-ttl <duration>': 'such as 600 or 10m, at most the server’s value; or "default"' }
  },
  refreshTokenIdleTtl: {
    kind: 'seconds',
    member: 'refresh_token_idle_ttl',
    most: 3650 * 86_400,
    description: 'Seconds between two uses.',
    options: { '--refresh-token-idle-ttl <duration>': 'maximum time between two uses of a refresh token' }
  },
  refreshTokenMaxTtl: {
    kind: 'seconds',
    member: 'refresh_token_max_ttl',
    most: 3650 * 86_400,
    description: 'Seconds from the exchange of the code.',
    options: { '--refresh-token-max-ttl <duration>': 'maximum time from consent to the last refresh' }
  }
} as const satisfies Readonly<Record<string, Setting>>

type Setting = KindOfSetting & {
  /** Its name in JSON, and its column if pages show it. */
  member: string
  /** A new client must have it. */
  isRequired?: true
  /** The description in the OpenAPI document. */
  description: string
  /** The flags of each option of the commands with its help. */
  options: Readonly<Record<string, OptionHelp>>
  /** The name that commander gives to the value, if it is another. */
  option?: string
}

/** A text is for `create` and `update`. Without `create`, only `update` has the option. */
export type OptionHelp = string | { create?: string; update: string }

type KindOfSetting =
  | { kind: 'name' }
  | { kind: 'texts' }
  /** Texts on the command line, one text with spaces in JSON. */
  | { kind: 'scopes' }
  /** `initial`: of a new client, if the command or the document does not say it. */
  | { kind: 'flag'; initial: boolean }
  | { kind: 'choice'; choices: readonly string[]; initial: string }
  /** Pages show it. `words` are for error texts; the others are keys of messages for the developer's form. */
  | { kind: 'text'; most: number; words: string; label: string; advice: string; malformed: string }
  /** The same for the address of a web page. */
  | { kind: 'url'; words: string; label: string }
  /** The hash of a stored image. The command line has a file, the administration API its own route, the registry file nothing. */
  | { kind: 'logo' }
  /** If it is not set: the server's value. */
  | { kind: 'seconds'; most: number }

export type ClientSettingsTable = typeof CLIENT_SETTINGS
export type SettingName = keyof ClientSettingsTable
export type SettingKind = ClientSettingsTable[SettingName]['kind']
export type SettingOfKind<Kind extends SettingKind> = Extract<ClientSettingsTable[SettingName], { kind: Kind }>
export type NamesOfKind<Kind extends SettingKind> = {
  [Name in SettingName]: ClientSettingsTable[Name]['kind'] extends Kind ? Name : never
}[SettingName]

/** The names in the order of the table. */
export const SETTING_NAMES = Object.keys(CLIENT_SETTINGS) as readonly SettingName[]

/** The settings of these kinds, in the order of the table. */
export function namesOfKind<Kind extends SettingKind>(...kinds: readonly Kind[]): readonly NamesOfKind<Kind>[] {
  const isOfKind = (name: SettingName): name is NamesOfKind<Kind> =>
    (kinds as readonly SettingKind[]).includes(CLIENT_SETTINGS[name].kind)
  return SETTING_NAMES.filter(isOfKind)
}

/** The rows of these kinds, in the order of the table. */
export function settingsOfKind<Kind extends SettingKind>(...kinds: readonly Kind[]): readonly SettingOfKind<Kind>[] {
  const isOfKind = (setting: ClientSettingsTable[SettingName]): setting is SettingOfKind<Kind> =>
    (kinds as readonly SettingKind[]).includes(setting.kind)
  return Object.values(CLIENT_SETTINGS).filter(isOfKind)
}
