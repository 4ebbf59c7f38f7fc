import type { Logger } from '@valetkey/service-kit'
import type { LightMyRequestResponse } from 'fastify'
import { ISSUER, REDIRECT_URI, startTestServer, type TestServer } from './authorization-server.js'
import type { Browser, Page } from './browser.js'
import { submitMultipart } from './multipart-form.js'
import { fromForm } from './pages.js'

export const APPS = `${ISSUER}/account/developer`

/** A scope that operators released for apps of users. */
export const OFFERED = 'photos.read'

export const VALID = {
  name: 'Wind Chimes',
  type: 'confidential',
  redirect_uris: `${REDIRECT_URI}\r\n`,
  [`scope.${OFFERED}`]: 'required'
}

/** Sends the form for a new app. */
export async function sendNewApp(
  server: TestServer,
  browser: Browser,
  fields: Record<string, string | Blob> = {},
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  return submitMultipart(server, browser, await browser.open(`${APPS}/new`), { ...VALID, ...fields }, headers)
}

/** Registers an app. @returns its address; with its secret if it is confidential */
export async function newApp(server: TestServer, browser: Browser, fields: Record<string, string | Blob> = {}) {
  const answer = await sendNewApp(server, browser, fields)
  const clientId = /account\/developer\/apps\/([\w-]+)/.exec(answer.body + String(answer.headers.location))?.[1]
  if (clientId === undefined) throw new Error(`no app was registered: ${answer.statusCode} ${answer.body}`)
  return { clientId, url: `${APPS}/apps/${clientId}`, clientSecret: secretIn(answer.body) }
}

/** The secret that a page shows. */
export const secretIn = (body: string): string | undefined => /vk_cs_\w+/.exec(body)?.[0]

/** Sends the form of an app's page that goes to this address below the app. */
export async function sendForm(
  browser: Browser,
  url: string,
  below: string,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {}
): Promise<Page> {
  const page = await browser.open(url)
  return browser.submit(fromForm(page, new URL(`${url}/${below}`).pathname), fields, headers)
}

/** A server on which users may register apps. */
export async function startDeveloperServer(mode = 'approved', logger?: Logger): Promise<TestServer> {
  const server = await startTestServer({ DEVELOPER_APPS: mode }, logger)
  await server.createScope(OFFERED, { isSelfService: true })
  return server
}
