import type { Setting } from './client-setting-kinds.js'

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
  refreshRotation: {
    kind: 'flag',
    member: 'refresh_rotation',
    initial: true,
    description: 'Whether a refresh replaces the refresh token; always true for a public client.',
    options: {
      '--refresh-rotation': 'replace the refresh token at each refresh; the default',
      '--no-refresh-rotation': 'keep the refresh token at each refresh; not for public clients'
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
  dpopBound: {
    kind: 'flag',
    member: 'dpop_bound_access_tokens',
    initial: false,
    description: 'Whether each token request must have a DPoP proof (RFC 9449 §5.2).',
    options: {
      '--dpop-bound': 'refuse token requests without a DPoP proof',
      '--no-dpop-bound': { update: 'accept token requests without a DPoP proof' }
    }
  },
  requirePar: {
    kind: 'flag',
    member: 'require_par',
    initial: false,
    description: 'Whether its authorization requests must be pushed (RFC 9126).',
    options: {
      '--require-par': 'refuse authorization requests that were not pushed (RFC 9126)',
      '--no-require-par': { update: 'accept authorization requests that were not pushed' }
    }
  },
  profile: {
    kind: 'choice',
    member: 'profile',
    choices: ['none', 'fapi2'],
    initial: 'none',
    description: 'The profile that the client follows: none, or fapi2, with which other settings must fit.',
    options: { '--profile <name>': 'none, or fapi2: FAPI 2.0 Security Profile' }
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
  },
  authMethod: {
    kind: 'method',
    member: 'auth_method',
    choices: ['client_secret', 'private_key_jwt', 'none'],
    description: 'How the client authenticates; absent: with its secret, or not at all if it is public.',
    options: { '--auth-method <method>': 'client_secret, private_key_jwt, or none for a public client' }
  },
  jwks: {
    kind: 'keys',
    member: 'jwks',
    description: 'Its public keys for private_key_jwt, a JWK Set (RFC 7517) of up to 8 keys; absent with jwks_uri.',
    options: { '--jwks <file>': 'all its public keys for private_key_jwt: JWK, JWK Set or PEM' }
  },
  jwksUri: {
    kind: 'key_uri',
    member: 'jwks_uri',
    description: 'Address of its public keys for private_key_jwt; https. Absent with jwks.',
    options: { '--jwks-uri <url>': 'the address of its public keys for private_key_jwt; https' }
  }
} as const satisfies Readonly<Record<string, Setting>>

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
