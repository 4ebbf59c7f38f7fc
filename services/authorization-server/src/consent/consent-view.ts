import { type AuthorizationRequest, type Client, redirectTarget } from '@valetkey/oauth-protocol'
import type { Scope } from '../storage/scopes.js'

export type ConsentView = {
  clientName: string
  /** Where the answer goes: a host, or the scheme of an app. */
  destination: string
  required: readonly ScopeView[]
  optional: readonly ScopeView[]
  staysWhileAway: boolean
}

type ScopeView = { name: string; title: string; description: string }

/** What the consent page says, in the order in which the client asked. */
export function consentView(request: AuthorizationRequest, client: Client, catalogue: readonly Scope[]): ConsentView {
  const views = request.scope.map((name) => {
    const known = catalogue.find((scope) => scope.name === name)
    return { name, title: known?.title ?? name, description: known?.description ?? '' }
  })
  const isRequired = (view: ScopeView): boolean => client.requiredScopes.includes(view.name)
  const target = redirectTarget(request.redirectUri)
  return {
    clientName: client.name,
    destination: target.kind === 'app' ? target.scheme : target.host,
    required: views.filter(isRequired),
    optional: views.filter((view) => !isRequired(view)),
    staysWhileAway: client.issuesRefreshTokens
  }
}
