// Views, messages and migrations of features are in the central folders of the authorization server. The start of their names
// says whose they are. Node built-ins only.

/**
 * The first parts of the names of each feature; of messages, the part of the key before the first dot, or a longer start.
 * @typedef {{ views?: string[], messages?: string[], migrations?: string[] }} Names
 */

/** @type {Readonly<Record<string, Names>>} */
const NAMES = {
  'client-documents': { views: ['unregistered-app'] },
  'developer-apps': {
    views: ['account-developer', 'developer-'],
    messages: ['developer'],
    migrations: ['create_developer_apps']
  },
  'foreign-sign-in': {
    views: ['account-sign-ins', 'link-identity', 'sign-in-problem'],
    messages: ['linking', 'sign_ins', 'sign_in_problem'],
    migrations: ['create_identities']
  },
  invitations: { views: ['account-link'], messages: ['account_link', 'mail'], migrations: ['create_account_links'] },
  'own-pages': {},
  passkeys: {
    views: ['account-passkeys', 'login-passkey', 'passkey'],
    messages: ['passkeys', 'login.passkey'],
    migrations: ['create_passkeys']
  },
  'refused-requests': {
    views: ['account-developer-refusals'],
    messages: ['refusals'],
    migrations: ['create_client_refusals']
  },
  'registry-file': {},
  'user-import': {}
}

/**
 * `views` without folder and extension; `messages`: their keys; `migrations` without number.
 * @typedef {{ features: string[], views: string[], messages: string[], migrations: string[] }} Present
 */

/**
 * @param {Present} present
 * @param {Readonly<Record<string, Names>>} [names]
 * @returns {string[]} one sentence for each feature without names, and for each name without a feature or a file
 */
export function unknownNames(present, names = NAMES) {
  const unnamed = present.features.filter((feature) => !Object.hasOwn(names, feature))
  return [
    ...unnamed.map((feature) => `features/${feature}: not in feature-names.mjs`),
    ...Object.entries(names).flatMap(([feature, own]) => {
      if (!present.features.includes(feature))
        return [`features/${feature}: in feature-names.mjs, but there is no folder`]
      return KINDS.flatMap((kind) =>
        (own[kind] ?? [])
          .filter((start) => !present[kind].some((name) => startsWith(kind, name, start)))
          .map((start) => `features/${feature}: none of the ${kind} begins with "${start}"`)
      )
    })
  ]
}

/**
 * @param {string} feature
 * @param {string} text of one of its source files
 * @param {Readonly<Record<string, Names>>} [names]
 * @returns {string[]} one sentence for each view that it renders and that has the name of the core or of another feature, and for
 *   each message of another feature
 */
export function foreignNames(feature, text, names = NAMES) {
  const views = [...text.matchAll(/\.view\('([\w-]+)\.hbs'/g)].map(([, name = '']) => name)
  const messages = [...text.matchAll(/'([a-z_]+\.[a-z_.]+)'/g)].map(([, name = '']) => name)
  return [
    ...views
      .filter((name) => ownerOf('views', name, names) !== feature)
      .map((name) => `renders ${name}.hbs, which has no name of ${feature}`),
    ...messages
      .filter((name) => ![feature, undefined].includes(ownerOf('messages', name, names)))
      .map((name) => `uses the message "${name}" of ${ownerOf('messages', name, names)}`)
  ]
}

const KINDS = /** @type {const} */ (['views', 'messages', 'migrations'])

/**
 * @param {string} key of a message
 * @returns {string | undefined} its feature, also if the feature has no folder; undefined for a message of the core
 */
export const featureOfMessage = (key) => ownerOf('messages', key, NAMES)

/** The feature with the longest start of the name. @type {(kind: keyof Names, name: string, names: Record<string, Names>) => string | undefined} */
function ownerOf(kind, name, names) {
  const starts = Object.entries(names).flatMap(([feature, own]) =>
    (own[kind] ?? []).map((start) => ({ feature, start }))
  )
  const matching = starts.filter(({ start }) => startsWith(kind, name, start))
  return matching.sort((a, b) => b.start.length - a.start.length)[0]?.feature
}

/** A start of a message key without a dot is a whole word. @type {(kind: keyof Names, name: string, start: string) => boolean} */
const startsWith = (kind, name, start) =>
  kind === 'messages' && !start.includes('.') ? name.split('.')[0] === start : name.startsWith(start)
