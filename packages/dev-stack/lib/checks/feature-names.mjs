// Views, messages and migrations of features are in the central folders of the authorization server. The file `names.json` of a
// feature has the start of the names that are its own. Node built-ins only.
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/**
 * The first parts of the names of a feature; of messages, the part of the key before the first dot, or a longer start.
 * @typedef {{ views?: string[], messages?: string[], migrations?: string[] }} Names
 */

/** @type {Readonly<Record<string, Names>>} */
const NAMES = readNames(new URL('../../../../services/authorization-server/src/features/', import.meta.url))

/** The `names.json` of each feature that has one. @type {(features: URL) => Record<string, Names>} */
function readNames(features) {
  const folders = existsSync(features) ? readdirSync(features) : []
  const files = folders.map((name) => ({ name, file: new URL(`${name}/names.json`, features) }))
  const present = files.filter(({ file }) => existsSync(file))
  return Object.fromEntries(present.map(({ name, file }) => [name, JSON.parse(readFileSync(file, 'utf8'))]))
}

/**
 * `views` without folder and extension; `messages`: their keys; `migrations` without number.
 * @typedef {{ features: string[], views: string[], messages: string[], migrations: string[] }} Present
 */

/**
 * @param {Present} present
 * @param {Readonly<Record<string, Names>>} [names]
 * @returns {string[]} one sentence for each feature without names, and for each name without a file, or of two features
 */
export function unknownNames(present, names = NAMES) {
  const unnamed = present.features.filter((feature) => !Object.hasOwn(names, feature))
  const starts = startsOf(names)
  const withoutFile = starts.filter(({ kind, start }) => !present[kind].some((name) => startsWith(kind, name, start)))
  const ofTwo = starts.filter((one) => starts.find((first) => isSame(first, one)) !== one)
  return [
    ...unnamed.map((feature) => `features/${feature}: no names.json`),
    ...Object.entries(names).flatMap(([feature, own]) =>
      Object.keys(own)
        .filter((kind) => !KINDS.some((known) => known === kind))
        .map((kind) => `features/${feature}: names.json has the unknown kind "${kind}"`)
    ),
    ...withoutFile.map(({ feature, kind, start }) => `features/${feature}: none of the ${kind} begins with "${start}"`),
    ...ofTwo.map(({ feature, kind, start }) => `features/${feature}: another feature has the ${kind} "${start}", too`)
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
 * @returns {string | undefined} its feature; undefined for a message of the core
 */
export const featureOfMessage = (key) => ownerOf('messages', key, NAMES)

/** @typedef {{ feature: string, kind: keyof Names, start: string }} Start of the names of a feature */

/** @type {(one: Start, other: Start) => boolean} */
const isSame = (one, other) => one.kind === other.kind && one.start === other.start

/** @type {(names: Record<string, Names>) => Start[]} */
const startsOf = (names) =>
  Object.entries(names).flatMap(([feature, own]) =>
    KINDS.flatMap((kind) => (own[kind] ?? []).map((start) => ({ feature, kind, start })))
  )

/** The feature with the longest start of the name. @type {(kind: keyof Names, name: string, names: Record<string, Names>) => string | undefined} */
function ownerOf(kind, name, names) {
  const matching = startsOf(names).filter((one) => one.kind === kind && startsWith(kind, name, one.start))
  return matching.sort((a, b) => b.start.length - a.start.length)[0]?.feature
}

/** A start of a message key without a dot is a whole word. @type {(kind: keyof Names, name: string, start: string) => boolean} */
const startsWith = (kind, name, start) =>
  kind === 'messages' && !start.includes('.') ? name.split('.')[0] === start : name.startsWith(start)
