import type { Scope } from '../../storage/postgres/scopes.js'
import type { Language } from './language.js'

/** A scope as a person reads it. */
export type DescribedScope = { name: string; title: string; description: string }

/** In the language of the page where the catalogue has it, else as it was written first. */
export function describeScope(name: string, catalogue: readonly Scope[], language: Language): DescribedScope {
  const known = catalogue.find((scope) => scope.name === name)
  const translated = known?.translations[language.tag]
  return {
    name,
    title: translated?.title ?? known?.title ?? name,
    description: translated?.description ?? known?.description ?? ''
  }
}
