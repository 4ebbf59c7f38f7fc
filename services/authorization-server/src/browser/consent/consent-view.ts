import {
  type AuthorizationRequest,
  type Client,
  lifetimesOf,
  redirectTarget,
  type TokenLifetimes
} from '@valetkey/oauth-protocol'
import { type DescribedScope, describeScope } from '../../platform/i18n/describe-scope.js'
import type { Language, Message } from '../../platform/i18n/language.js'
import type { ClientRegistration } from '../../storage/postgres/clients.js'
import type { Scope } from '../../storage/postgres/scopes.js'

export type ConsentView = {
  clientName: string
  verified: boolean
  /** Where the answer goes: a host, or the scheme of an app. */
  destination: string
  /** Key of a warning, where the answer stays on the person's own device and anything there may catch it. */
  destinationAdvice: string
  required: readonly DescribedScope[]
  optional: readonly DescribedScope[]
  /** Allowed before, and not asked again. */
  remembered: readonly DescribedScope[]
  lasts: Message
}

export type Asked = {
  request: AuthorizationRequest
  client: ClientRegistration
  /** What this user has allowed this client before, where it is remembered. */
  rememberedScope: readonly string[]
}

/** Which of the scopes asked for stand under which heading; every one stands under exactly one. */
export function sortScopes({ request, client, rememberedScope }: Asked) {
  const remembered = request.scope.filter((name) => rememberedScope.includes(name))
  const asked = request.scope.filter((name) => !rememberedScope.includes(name))
  const isRequired = (name: string): boolean => client.requiredScopes.includes(name)
  return { remembered, required: asked.filter(isRequired), optional: asked.filter((name) => !isRequired(name)) }
}

/** What the consent page says, in the order in which the client asked. */
export function consentView(
  asked: Asked,
  catalogue: readonly Scope[],
  lifetimes: TokenLifetimes,
  language: Language
): ConsentView {
  const { client, request } = asked
  const describe = (name: string) => describeScope(name, catalogue, language)
  const { required, optional, remembered } = sortScopes(asked)
  return {
    clientName: client.name,
    verified: client.verified,
    ...destinationOf(request.redirectUri),
    required: required.map(describe),
    optional: optional.map(describe),
    remembered: remembered.map(describe),
    lasts: howLong(client, lifetimesOf(client, lifetimes), language)
  }
}

function destinationOf(redirectUri: string): { destination: string; destinationAdvice: string } {
  const target = redirectTarget(redirectUri)
  switch (target.kind) {
    case 'web':
      return { destination: target.host, destinationAdvice: '' }
    case 'loopback':
      return { destination: target.host, destinationAdvice: 'consent.loopback_advice' }
    case 'app':
      return { destination: target.scheme, destinationAdvice: 'consent.app_advice' }
  }
}

function howLong(client: Client, lifetimes: TokenLifetimes, language: Language): Message {
  return client.issuesRefreshTokens
    ? { key: 'consent.lasts_away', values: { time: language.duration(lifetimes.refreshTokenMax) } }
    : { key: 'consent.lasts_once', values: { time: language.duration(lifetimes.accessToken) } }
}
