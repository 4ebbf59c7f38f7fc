import type { LightMyRequestResponse } from 'fastify'
import { ISSUER, type TestServer } from './authorization-server.js'
import { type Browser, firstForm, type Page } from './browser.js'

/** Sends the first form of a page as multipart/form-data, with these fields over its own. */
export async function submitMultipart(
  server: Pick<TestServer, 'publicServer'>,
  browser: Pick<Browser, 'cookies'>,
  page: Pick<Page, 'body'>,
  fields: Record<string, string | Blob>,
  headers: Record<string, string> = {}
): Promise<LightMyRequestResponse> {
  const form = firstForm(page.body)
  const data = new FormData()
  for (const [name, value] of Object.entries({ ...form.fields, ...fields })) {
    if (typeof value === 'string') data.append(name, value)
    else data.append(name, value, 'logo.png')
  }
  const encoded = new Response(data)
  const { pathname } = new URL(form.action, ISSUER)
  return server.publicServer.inject({
    method: 'POST',
    url: pathname,
    headers: {
      accept: 'text/html',
      origin: ISSUER,
      'sec-fetch-site': 'same-origin',
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'content-type': encoded.headers.get('content-type') ?? '',
      ...headers
    },
    payload: Buffer.from(await encoded.arrayBuffer())
  })
}
