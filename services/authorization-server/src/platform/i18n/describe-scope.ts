import type { Scope } from '../../storage/postgres/scopes.js'
import type { Language } from './language.js'

/** A scope with its texts for users. */
export type DescribedScope = { name: string; title: string; description: string }

/** Describes a scope in the language of the page if the catalogue has a translation, otherwise in the original language. */
export function describeScope(name: string, catalogue: readonly Scope[], language: Language): DescribedScope {
  const known = catalogue.find((scope) => scope.name === name)
  const translated = known?.translations[language.tag]
  return {
    name,
    title: translated?.title ?? known?.title ?? name,
    description: translated?.description ?? known?.description ?? ''
  }
}
