/** Any one of several scopes will do. */
export type AnyOfScopes = {
  anyOf: readonly string[]
  /** The scope that challenges name, where one of the list is the one to ask for. Default: the first. */
  challengeScope?: string
}

/** What a route asks of a token's scope: every one of a list, or any one of several. */
export type ScopeRequirement = readonly string[] | AnyOfScopes

export function isMetBy(scope: ReadonlySet<string>, requirement: ScopeRequirement): boolean {
  return 'anyOf' in requirement
    ? requirement.anyOf.some((token) => scope.has(token))
    : requirement.every((token) => scope.has(token))
}

/** `scope` of the challenge: what a client has to ask for to get through (RFC 6750 §3). */
export function challengeScope(requirement: ScopeRequirement): string | undefined {
  const scope = 'anyOf' in requirement ? (requirement.challengeScope ?? requirement.anyOf[0]) : requirement.join(' ')
  return scope || undefined
}
