import type { LightMyRequestResponse } from 'fastify'
import type { Credentials, TestServer } from '../../../support/authorization-server.js'
import type { Browser, Page } from '../../../support/browser.js'
import { authorizeUrl, basic, exchange, responseParameters } from '../../../support/flow.js'
import { introspectionOf, pairOf, type Tokens } from '../../../support/tokens.js'

export const SELECTED = 'files.selected'

export const DETAIL = { type: 'files', identifier: 'sel_1', summary: '12 photos' }

/** Calls an endpoint of the internal listener as an API. */
export function callAs(
  server: TestServer,
  api: Credentials | undefined,
  step: 'start' | 'finish',
  body: unknown
): Promise<LightMyRequestResponse> {
  return server.internalServer.inject({
    method: 'POST',
    url: `/selections/${step}`,
    headers: { 'content-type': 'application/json', ...(api && basic(api)) },
    payload: typeof body === 'string' ? body : JSON.stringify(body)
  })
}

/** The hand-over in the address of the page of the API. */
export function handoverIn({ headers }: Pick<LightMyRequestResponse, 'headers'>): string {
  return new URL(String(headers.location)).searchParams.get('handover') ?? ''
}

/** Presses the button of the consent page that leads to the API. @returns the hand-over */
export async function leave(browser: Browser, page: Page, fields: Record<string, string> = {}): Promise<string> {
  return handoverIn(await browser.submitOnly(page, { ...fields, decision: 'choose' }))
}

/** What the page of an API does: it starts the hand-over and finishes it. @returns the consent page, or the list of apps */
export async function chooseAtApi(
  { server, api, browser }: { server: TestServer; api: Credentials; browser: Browser },
  handover: string,
  detail: object = DETAIL
): Promise<Page> {
  await callAs(server, api, 'start', { handover })
  const { return_to } = (await callAs(server, api, 'finish', { handover, ...detail })).json()
  return browser.open(return_to)
}

type Allowing = { server: TestServer; api: Credentials; browser: Browser; client: Credentials }

/** Chooses, ticks the boxes and allows. @returns the tokens of the exchange */
export async function allowChosen(
  { client, ...where }: Allowing,
  change: Record<string, string> = {},
  detail: object = DETAIL
): Promise<Tokens> {
  const { server, browser } = where
  const page = await browser.open(authorizeUrl(client.clientId, { scope: SELECTED, ...change }))
  const back = await chooseAtApi(where, await leave(browser, page, { 'scope.files.read:images': 'on' }), detail)
  const { code = '' } = responseParameters(await browser.submitOnly(back, { decision: 'allow' }))
  return pairOf(await exchange(server, client, code))
}

/** The choice that an API learns with a token. */
export async function detailsOf(
  server: TestServer,
  api: Credentials,
  { access_token: token }: Tokens
): Promise<unknown> {
  const { active, scope, authorization_details } = (await introspectionOf(server, api, token)) as Record<
    string,
    unknown
  >
  return { active, scope, authorization_details }
}
