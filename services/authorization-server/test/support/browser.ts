import type { FastifyInstance, LightMyRequestResponse } from 'fastify'

export type Page = LightMyRequestResponse & { url: string }

/** Maximum number of redirects, as in browsers. */
const MAX_REDIRECTS = 20

/** A minimal browser: cookies, redirects and refreshes within a site, hidden fields, Origin of form POSTs. */
export class Browser {
  readonly #server: FastifyInstance
  readonly #origin: string
  readonly cookies: Map<string, string>

  /** @param cookies of the same host, which browsers send to all its ports */
  constructor(server: FastifyInstance, issuer: string, cookies = new Map<string, string>()) {
    this.#server = server
    this.cookies = cookies
    this.#origin = new URL(issuer).origin
  }

  /** Opens an address and follows redirects and refreshes as long as they stay on the site. */
  async open(url: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.#follow(await this.#send('GET', url, undefined, headers))
  }

  /** One request, no redirect followed. */
  async get(url: string, headers: Record<string, string> = {}): Promise<Page> {
    return this.#send('GET', url, undefined, headers)
  }

  /** Sends the first form of a page with the given fields over its hidden ones. */
  async submit(page: Page, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Page> {
    return this.#follow(await this.submitOnly(page, fields, headers))
  }

  async submitOnly(page: Page, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Page> {
    const form = firstForm(page.body)
    const body = new URLSearchParams({ ...form.fields, ...fields }).toString()
    const sent = { origin: this.#origin, 'sec-fetch-site': 'same-origin', ...headers }
    return this.#send('POST', new URL(form.action, page.url).href, body, sent)
  }

  async #follow(page: Page, redirects = 0): Promise<Page> {
    const location = page.headers.location ?? refreshOf(page)
    if (location === undefined) return page
    const target = new URL(location, page.url)
    if (target.origin !== this.#origin) return page
    if (redirects === MAX_REDIRECTS) throw new Error(`redirected without end: ${target.href}`)
    return this.#follow(await this.#send('GET', target.href), redirects + 1)
  }

  async #send(method: 'GET' | 'POST', url: string, body?: string, headers: Record<string, string> = {}): Promise<Page> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { pathname, search } = new URL(url)
    const response = await this.#server.inject({
      method,
      url: pathname + search,
      headers: {
        accept: 'text/html',
        ...(cookie !== '' && { cookie }),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers
      },
      ...(body !== undefined && { payload: body })
    })
    for (const { name, value, maxAge, expires } of response.cookies) {
      const gone = maxAge === 0 || (expires !== undefined && expires.getTime() <= Date.now())
      if (gone) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return Object.assign(response, { url })
  }
}

/** Returns where a page leads on at once. */
function refreshOf({ headers }: Page): string | undefined {
  return /^0;url=(.+)$/.exec(String(headers.refresh ?? ''))?.[1]
}

export function firstForm(html: string): { action: string; fields: Record<string, string> } {
  const form = /<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/.exec(html)
  if (form === null) throw new Error(`no form in: ${html.slice(0, 2000)}`)
  const fields: Record<string, string> = {}
  for (const [input] of (form[2] ?? '').matchAll(/<input[^>]*>/g)) {
    const name = attribute(input, 'name')
    const unticked = ['checkbox', 'radio'].includes(attribute(input, 'type') ?? '') && !/ checked/.test(input)
    if (name !== undefined && !unticked) fields[name] = attribute(input, 'value') ?? ''
  }
  return { action: unescapeHtml(form[1] ?? ''), fields }
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : unescapeHtml(value)
}

function unescapeHtml(text: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'", '#x3D': '=', '#x60': '`' }
  return text.replace(/&(amp|lt|gt|quot|#x27|#x3D|#x60);/g, (_, name: string) => named[name] ?? '')
}
