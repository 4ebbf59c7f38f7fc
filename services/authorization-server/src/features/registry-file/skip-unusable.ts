import { objectionToRedirectUri } from '@valetkey/oauth-protocol'
import { didYouMean } from '../../operator/use-cases/suggest-scopes.js'
import type { Known } from './registry-change.js'
import type { ClientEntry } from './registry-document.js'

/**
 * A client of another server often has a redirect URI or a scope that cannot be used here. It is skipped and named, if its list
 * has others: without it, the client may do less. Never an API of `resources`, because an empty list does not limit the client.
 * A list with nothing else is left as it is, and is a mistake.
 */
export async function skipUnusable(
  entry: ClientEntry,
  place: string,
  { current, later, mistakes }: Known
): Promise<ClientEntry> {
  // A scope that `--prune` would delete is not skipped: a client of the file has it.
  const known = new Set([...current.scopes, ...(await later.scopes.list())].map(({ name }) => name))
  const objectionToScope = (name: string) => (known.has(name) ? undefined : notInCatalogue(name, [...known]))
  const usable = (member: string, list: readonly string[], objectionTo: (value: string) => string | undefined) => {
    const objections = list.map(objectionTo)
    if (!objections.includes(undefined)) return list
    for (const [index, reason] of objections.entries()) {
      if (reason !== undefined) mistakes.skip({ place: `${place}.${member}[${index}]`, reason })
    }
    return list.filter((_value, index) => objections[index] === undefined)
  }
  const scopesOf = (member: 'scope' | 'optional_scope') => {
    const names = entry[member]?.split(/\s+/).filter((name) => name !== '')
    return names === undefined ? {} : { [member]: usable(member, names, objectionToScope).join(' ') }
  }
  const redirectUris = usable('redirect_uris', entry.redirect_uris, objectionToRedirectUri)
  return { ...entry, redirect_uris: redirectUris, ...scopesOf('scope'), ...scopesOf('optional_scope') }
}

function notInCatalogue(name: string, known: readonly string[]): string {
  const hint = didYouMean([name], known)
  return `${name} is not in the scope catalogue${hint === undefined ? '' : ` (${hint})`}`
}
