import {
  type AuthorizationRequest,
  type Client,
  leadsToOwnDevice,
  lifetimesOf,
  redirectTarget,
  type TokenLifetimes
} from '@valetkey/oauth-protocol'
import { type AppBadge, appBadge } from '../../platform/clients/app-badge.js'
import { type DescribedApi, describeApi } from '../../platform/i18n/describe-api.js'
import { type DescribedScope, describeScope } from '../../platform/i18n/describe-scope.js'
import type { Language, Message } from '../../platform/i18n/language.js'
import type { Chosen } from '../../platform/selections.js'
import type { NewClient } from '../../storage/postgres/clients.js'
import type { Api } from '../../storage/postgres/resource-servers.js'
import type { Scope } from '../../storage/postgres/scopes.js'
import type { ReferredRequest } from '../pending-requests/request-references.js'
import { type UnregisteredApp, unregisteredApp } from './unregistered-app.js'

export type ConsentView = {
  title: Message
  /** The host of the client id for a client that no operator registered: it chose its own name. */
  clientName: string
  /** Undefined for a registered client. */
  unregistered: UnregisteredApp | undefined
  app: AppBadge
  /** Key of a warning about a registered client that is not verified, if there is no `destinationAdvice`. */
  makerAdvice: string
  /** The API that the token is for. */
  api: DescribedApi
  /** Target of the response: a host, or the scheme of an app. */
  destination: string
  /**
   * Key of a warning for a target on the user's own device, where other programs could receive the response. Empty for a draft, whose
   * test users run it there as a rule.
   */
  destinationAdvice: string
  required: readonly AskedScope[]
  optional: readonly AskedScope[]
  /** Whether Allow grants something also if no optional scope is ticked. */
  isMixed: boolean
  /** Allowed earlier. The user cannot leave them out. */
  remembered: readonly DescribedScope[]
  /** All of them. */
  scopes: readonly DescribedScope[]
  lasts: Message
  /** The details for the developer of the app, in `<details>`. */
  technical: { resource: string; clientId: string; redirectUri: string }
}

/** @property choice what the user chooses for the scope, with the title of the API; empty if there is nothing to choose */
type AskedScope = DescribedScope & { choice: { summary: string; api: string } | '' }

/** The request that the user decides about. */
export type ConsentQuestion = {
  request: AuthorizationRequest
  client: NewClient
  /** The greatest number of a requested scope (ADR 0041). */
  newestScope: number
  /** As in `ValidatedRequest`. */
  sendsAuthTime: boolean
  /** As in `ValidatedRequest`. */
  selectingScope?: string
  /** What the user has chosen for it; undefined if there is nothing to choose. */
  chosen?: Chosen | undefined
  referred?: ReferredRequest | undefined
  /** Scope of the remembered consent; empty if the client does not remember consents. */
  rememberedScope: readonly string[]
  /** The choices of an end. Empty: the page does not ask when the access ends. */
  endValues: readonly string[]
}

/**
 * Divides the requested scopes among the headings of the page. Each scope is in exactly one list. A request for one scope has
 * no choice: the alternative is to deny it.
 */
export function sortScopes({ request, client, rememberedScope }: ConsentQuestion) {
  const remembered = request.scope.filter((name) => rememberedScope.includes(name))
  const others = request.scope.filter((name) => !rememberedScope.includes(name))
  const isRequired = (name: string): boolean => client.requiredScopes.includes(name) || request.scope.length === 1
  return { remembered, required: others.filter(isRequired), optional: others.filter((name) => !isRequired(name)) }
}

/** The texts of the consent page. Scopes keep the order of the request. */
export function consentView(
  question: ConsentQuestion,
  { catalogue, apis, issuer }: { catalogue: readonly Scope[]; apis: readonly Api[]; issuer: string },
  lifetimes: TokenLifetimes,
  language: Language
): ConsentView {
  const { client, request } = question
  const describe = (name: string) => describeScope(name, catalogue, language)
  const { required, optional, remembered } = sortScopes(question)
  const { destination, destinationAdvice } = destinationOf(request.redirectUri, client)
  const unregistered = unregisteredApp(client, request.redirectUri)
  const clientName = unregistered?.clientIdHost ?? client.name
  const api = describeApi(request.audience, apis, language)
  const ask = (name: string) => ({ ...describe(name), choice: choiceFor(name, question, api) })
  return {
    title: titleOf(clientName, api),
    clientName,
    unregistered,
    app: appBadge(client, issuer),
    makerAdvice: makerAdviceOf(client),
    api,
    destination,
    destinationAdvice,
    required: required.map(ask),
    optional: optional.map(ask),
    isMixed: required.length + remembered.length > 0,
    remembered: remembered.map(describe),
    scopes: request.scope.map(describe),
    lasts: durationOfAccess(client, lifetimesOf(client, lifetimes), language),
    technical: { resource: request.audience, clientId: client.clientId, redirectUri: request.redirectUri }
  }
}

function choiceFor(
  name: string,
  { selectingScope, chosen }: ConsentQuestion,
  { title: api }: DescribedApi
): AskedScope['choice'] {
  if (chosen === undefined || name !== selectingScope) return ''
  return { summary: chosen.detail?.summary ?? '', api }
}

function titleOf(client: string, { title: api }: DescribedApi): Message {
  return api === ''
    ? { key: 'consent.title', values: { client } }
    : { key: 'consent.title_with_api', values: { client, api } }
}

function makerAdviceOf(client: NewClient): string {
  if (client.verified || client.isDiscovered === true) return ''
  // Owners add test users without asking them.
  return client.isUnpublished === true ? 'consent.draft_advice' : 'consent.unverified_advice'
}

function destinationOf(redirectUri: string, client: NewClient): { destination: string; destinationAdvice: string } {
  const target = redirectTarget(redirectUri)
  const isDraft = client.isUnpublished === true
  if (target.kind === 'app')
    return { destination: target.scheme, destinationAdvice: isDraft ? '' : 'consent.app_advice' }
  const destinationAdvice = !isDraft && leadsToOwnDevice(redirectUri) ? 'consent.loopback_advice' : ''
  return { destination: target.host, destinationAdvice }
}

function durationOfAccess(client: Client, lifetimes: TokenLifetimes, language: Language): Message {
  return client.issuesRefreshTokens
    ? { key: 'consent.lasts_away', values: { time: language.duration(lifetimes.refreshTokenMax) } }
    : { key: 'consent.lasts_once', values: { time: language.duration(lifetimes.accessToken) } }
}
