/** Where a walk has arrived: a page of ours, or an address of somebody else that was not opened. */
export type Page = { url: URL; status: number; html: string }

/** As much of a browser as forms need: cookies, redirects within one origin, hidden fields, the Origin of a form POST. */
export class HttpBrowser {
  readonly #origin: string
  readonly #cookies = new Map<string, string>()

  constructor(issuer: string) {
    this.#origin = new URL(issuer).origin
  }

  async open(url: URL): Promise<Page> {
    return this.#request(url)
  }

  /** Fills in the first form of a page and sends it. */
  async submit(page: Page, fields: Record<string, string>): Promise<Page> {
    const form = /<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/.exec(page.html)
    if (form === null) throw new Error(`No form at ${page.url} (${page.status}): ${page.html.slice(0, 1000)}`)
    const body = new URLSearchParams({ ...givenFields(form[2] ?? ''), ...fields })
    return this.#request(new URL(unescapeHtml(form[1] ?? ''), page.url), body)
  }

  async #request(url: URL, body?: URLSearchParams): Promise<Page> {
    if (url.origin !== this.#origin) return { url, status: 0, html: '' }
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie, ...(body && { origin: this.#origin }) },
      ...(body && { method: 'POST', body })
    })
    for (const line of response.headers.getSetCookie()) this.#keepCookie(line)
    const location = response.headers.get('location')
    // 303 and nothing else: the next request is a GET (RFC 9700 4.12).
    if (response.status === 303 && location !== null) return this.#request(new URL(location, url))
    return { url, status: response.status, html: await response.text() }
  }

  #keepCookie(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (/;\s*max-age=0\b|;\s*expires=[^;]*\b1970\b/i.test(line)) this.#cookies.delete(name)
    else this.#cookies.set(name, value)
  }
}

/** Hidden fields, and boxes that are ticked already. */
function givenFields(form: string): Record<string, string> {
  const inputs = [...form.matchAll(/<input[^>]*>/g)].map(([tag]) => tag)
  const sent = inputs.filter((tag) => / type="hidden"| type="checkbox".* checked/.test(tag))
  return Object.fromEntries(sent.map((tag) => [attribute(tag, 'name'), attribute(tag, 'value')]))
}

function attribute(tag: string, name: string): string {
  return unescapeHtml(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '')
}

function unescapeHtml(text: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'", '#x3D': '=', '#x60': '`' }
  return text.replace(/&(#?\w+);/g, (whole, name: string) => named[name] ?? whole)
}
