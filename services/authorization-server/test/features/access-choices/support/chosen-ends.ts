import type { LightMyRequestResponse } from 'fastify'
import type { Credentials, TestServer } from '../../../support/authorization-server.js'
import { Browser, type Page } from '../../../support/browser.js'
import { authorizeUrl, exchange, PASSWORD, responseParameters } from '../../../support/flow.js'
import { pairOf, type Tokens } from '../../../support/tokens.js'

export const HOUR = 3_600
export const DAY = 24 * HOUR

/** The choices of the consent page or of the page that shortens access. */
export function choicesOn({ body }: Pick<Page, 'body'>): { value: string; isSelected: boolean }[] {
  return [...body.matchAll(/<input type="radio"[^>]* name="access_ends" value="([^"]*)"[^>]*>/g)].map(
    ([input, value = '']) => ({ value, isSelected: / checked/.test(input) })
  )
}

export const valuesOn = (page: Pick<Page, 'body'>): string[] => choicesOn(page).map(({ value }) => value)

/** That of an instance, too. */
const newBrowser = ({ publicServer, config }: TestServer) => new Browser(publicServer, config.issuer)

/** Opens the consent page in a browser, which signs in if it has no session. */
export async function openChoice(
  server: TestServer,
  client: Credentials,
  change: Record<string, string | undefined> = {},
  { browser = newBrowser(server), username = 'alice' }: { browser?: Browser; username?: string } = {}
): Promise<{ browser: Browser; page: Page }> {
  let page = await browser.open(authorizeUrl(client.clientId, change))
  if (new URL(page.url).pathname === '/login') page = await browser.submit(page, { username, password: PASSWORD })
  return { browser, page }
}

type Allowing = { change?: Record<string, string | undefined>; browser?: Browser; username?: string }

/** Allows with this choice. @returns the code */
export async function allowFor(
  server: TestServer,
  client: Credentials,
  choice: string,
  { change, ...who }: Allowing = {}
): Promise<string> {
  const { browser, page } = await openChoice(server, client, change, who)
  const { code } = responseParameters(await browser.submitOnly(page, { decision: 'allow', access_ends: choice }))
  if (code === undefined) throw new Error('no code was issued')
  return code
}

/** What the responses of this feature have beside the others. */
export type TokensWithEnds = Tokens & { authorization_expires_in?: number; refresh_token_timeout?: number }

export async function tokensFor(
  server: TestServer,
  client: Credentials,
  choice: string,
  options: Allowing = {}
): Promise<TokensWithEnds> {
  return pairOf(await exchange(server, client, await allowFor(server, client, choice, options)))
}

export const endsOf = ({ expires_in, authorization_expires_in, refresh_token_timeout }: TokensWithEnds) => ({
  expires_in,
  authorization_expires_in,
  refresh_token_timeout
})

export const errorOf = (answer: LightMyRequestResponse) => [answer.statusCode, answer.json().error]
