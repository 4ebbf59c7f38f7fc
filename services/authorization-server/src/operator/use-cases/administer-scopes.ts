import { isScopeToken } from '@valetkey/oauth-protocol'
import { NO_TEXT } from '../../platform/clients/client-name.js'
import type { Scope, ScopeInUse, ScopeStore, ScopeTranslation } from '../../storage/postgres/scopes.js'
import type { Author } from './actor.js'
import { AdministrationError } from './administration-error.js'
import { changesBetween } from './changes-between.js'
import { findAudience, type RegisteredApis } from './find-audience.js'
import { recordChange } from './record-change.js'
import { requireLanguageTag } from './require-language-tag.js'
import { didYouMean } from './suggest-scopes.js'

export type ScopeAdministration = RegisteredApis & {
  scopes: ScopeStore
}

export type ScopeTexts = {
  title: string
  description: string
  translations: Readonly<Record<string, ScopeTranslation>>
}

/** Undefined: unchanged, or the default. */
export type ScopeSettings = {
  /** Name or identifier of a resource server; null or empty for the default API. */
  resource?: string | null | undefined
  isDefault?: boolean | undefined
  isDiscoverable?: boolean | undefined
  isSelfService?: boolean | undefined
  /** Gives access only to what the user chooses at the API. */
  selects?: boolean | undefined
}

const LONGEST_TEXT = 500

export async function createScope(
  {
    name,
    resource,
    isDefault = false,
    isDiscoverable = false,
    isSelfService = false,
    selects = false,
    ...texts
  }: { name: string } & ScopeTexts & ScopeSettings,
  author: Author,
  deps: ScopeAdministration
): Promise<Scope> {
  requireScopeName(name)
  const audience = await toAudience(resource, deps)
  const scope = { name, ...toTexts(texts), audience, isDefault, isDiscoverable, isSelfService, selects, builtIn: false }
  const { name: _name, built_in: _builtIn, ...details } = scopeDocument(scope)
  const event = { event: 'scope_created', details: { scope: name, ...details } } as const
  await requireOnlySelecting(scope, deps)
  await takeWhileUnknown(name, deps)
  const created = await recordChange(event, author, (note) => deps.scopes.create(scope, note))
  if (!created) throw new AdministrationError('conflict', `scope ${name} exists already`)
  return scope
}

/**
 * Changes texts and settings of a scope. A built-in scope stays with the default API.
 * @param command.texts returns the new texts for the current ones
 */
export async function updateScope(
  {
    name,
    texts = (current) => current,
    settings = {}
  }: { name: string; texts?: (current: Scope) => ScopeTexts; settings?: ScopeSettings },
  author: Author,
  deps: ScopeAdministration
): Promise<Scope> {
  const { scope, version } = await findInUse(name, deps)
  const {
    resource,
    isDefault = scope.isDefault,
    isDiscoverable = scope.isDiscoverable,
    isSelfService = scope.isSelfService,
    selects = scope.selects
  } = settings
  const audience = resource === undefined ? scope.audience : await toAudience(resource, deps)
  requireOwnApi(scope, audience)
  const updated = { ...scope, ...toTexts(texts(scope)), audience, isDefault, isDiscoverable, isSelfService, selects }
  const changes = changesBetween(scopeDocument(scope), scopeDocument(updated))
  if (Object.keys(changes).length === 0) return scope
  await requireOnlySelecting(updated, deps)
  const event = { event: 'scope_updated', details: { scope: name, changes } } as const
  const done = await recordChange(event, author, (note) => deps.scopes.update(updated, version, note))
  if (!done) throw changedMeanwhile(name)
  return updated
}

/**
 * Deletes a scope that is not built in. Grants, codes and remembered consents lose it at once, also if it is created again (ADR 0041).
 * @param command.fromClients also remove it from the clients that are registered for it
 * @returns the clients that it was removed from
 */
export async function deleteScope(
  { name, fromClients }: { name: string; fromClients: boolean },
  author: Author,
  deps: ScopeAdministration
): Promise<{ scope: Scope; clientIds: readonly string[] }> {
  const { scope, clientIds, onlyScopeOf } = await findInUse(name, deps)
  if (scope.builtIn) throw new AdministrationError('conflict', `scope ${name} is built in and cannot be deleted`)
  if (clientIds.length > 0 && !fromClients) {
    throw new AdministrationError('conflict', `clients are registered for the scope ${name}: ${some(clientIds)}`)
  }
  if (onlyScopeOf.length > 0) {
    const problem = `clients are registered only for the scope ${name}: ${some(onlyScopeOf)}`
    throw new AdministrationError('conflict', `${problem}; register another scope for them, or delete them first`)
  }
  const event = { event: 'scope_deleted', details: { ...scopeDocument(scope), scope: name, clientIds } } as const
  const deleted = await recordChange(event, author, (note) => deps.scopes.remove(name, fromClients, note))
  if (!deleted) throw changedMeanwhile(name)
  // A client may have been registered for it before the deletion; after it, none can be.
  await deps.scopes.takeFromClients(name)
  return { scope, clientIds }
}

/** Removes an earlier scope with this name from clients. Its deletion does so too, but may have failed half-way. */
async function takeWhileUnknown(name: string, deps: ScopeAdministration): Promise<void> {
  if ((await deps.scopes.findInUse(name)) === undefined) await deps.scopes.takeFromClients(name)
}

export async function findScope(name: string, deps: ScopeAdministration): Promise<Scope> {
  return (await findInUse(name, deps)).scope
}

/** A scope for operators. Without `resource`, it belongs to the default API. */
export function scopeDocument(scope: Scope) {
  const {
    name,
    title,
    description,
    translations,
    audience,
    isDefault,
    isDiscoverable,
    isSelfService,
    selects,
    builtIn
  } = scope
  return {
    name,
    title,
    description,
    translations,
    ...(audience !== undefined && { resource: audience }),
    default: isDefault,
    discoverable: isDiscoverable,
    self_service: isSelfService,
    selects,
    built_in: builtIn
  }
}

async function toAudience(resource: string | null | undefined, deps: RegisteredApis): Promise<string | undefined> {
  return resource === undefined || resource === null || resource === '' ? undefined : findAudience(resource, deps)
}

/** @throws {AdministrationError} `not_found`, with names that are alike */
export async function findInUse(name: string, deps: ScopeAdministration): Promise<ScopeInUse> {
  const found = isScopeToken(name) ? await deps.scopes.findInUse(name) : undefined
  if (found !== undefined) return found
  const hint = didYouMean([name], await namesOfScopes(deps))
  throw new AdministrationError('not_found', `there is no scope ${name}${hint === undefined ? '' : ` (${hint})`}`)
}

const namesOfScopes = async (deps: ScopeAdministration) => (await deps.scopes.list()).map((scope) => scope.name)

/**
 * A page of an API lets users choose for one scope. The index `scopes_selects` is the last resort, for two changes at once.
 * @throws {AdministrationError} `conflict`
 */
async function requireOnlySelecting(scope: Scope, deps: ScopeAdministration): Promise<void> {
  if (!scope.selects) return
  const { name, audience } = scope
  const other = (await deps.scopes.list()).find(
    (each) => each.selects && each.audience === audience && each.name !== name
  )
  if (other === undefined) return
  throw new AdministrationError(
    'conflict',
    `scope ${other.name} of the same API selects already, and an API can have one such scope`
  )
}

/** @throws {AdministrationError} `invalid` */
export function requireScopeName(name: string): void {
  if (!isScopeToken(name) || name.length > 100) {
    throw invalid('a scope name must have 1 to 100 printable ASCII characters, without space, " and \\')
  }
}

/** @throws {AdministrationError} `conflict` for another API than that of a built-in scope */
export function requireOwnApi({ name, builtIn }: Scope, audience: string | undefined): void {
  if (!builtIn || audience === undefined) return
  throw new AdministrationError('conflict', `scope ${name} is built in and belongs to the default API, RESOURCE_URL`)
}

/** @throws {AdministrationError} `invalid` */
export function toTexts({ title, description, translations }: ScopeTexts): ScopeTexts {
  if (title.trim() === '') throw invalid('the title must not be empty')
  for (const language of Object.keys(translations)) requireLanguageTag(language)
  return {
    title: toText(title),
    description: toText(description),
    translations: Object.fromEntries(
      Object.entries(translations).map(([language, texts]) => [language, trimmed(texts)])
    )
  }
}

function trimmed({ title, description }: ScopeTranslation): ScopeTranslation {
  return {
    ...(title !== undefined && { title: toText(title) }),
    ...(description !== undefined && { description: toText(description) })
  }
}

function toText(given: string): string {
  const text = given.trim()
  if (text.length > LONGEST_TEXT || NO_TEXT.test(text)) {
    throw invalid(`a text of a scope may have up to ${LONGEST_TEXT} characters and no control characters`)
  }
  return text
}

/** Names at most five ids. */
export function some(ids: readonly string[]): string {
  const more = ids.length > 5 ? ` and ${ids.length - 5} more` : ''
  return ids.slice(0, 5).join(', ') + more
}

function changedMeanwhile(name: string): AdministrationError {
  return new AdministrationError(
    'conflict',
    `scope ${name} or its clients are being changed by another command; try again`
  )
}

function invalid(message: string): AdministrationError {
  return new AdministrationError('invalid', message)
}
