// A browser without JavaScript for a single site.

/** @typedef {{ url: URL, status: number, html: string }} Page the current page, or an external address with status 0, which is not
 *   opened */
/** @typedef {ReturnType<typeof createHttpBrowser>} HttpBrowser */

/**
 * @param {string} issuer
 * @param {Record<string, string>} [headers] of every request
 * @param {(answer: { path: string, status: number, milliseconds: number }) => void} [onResponse] receives each response,
 *   including redirects
 * @returns a minimal browser: cookies, redirects within one site, hidden fields, Origin of form POSTs
 */
export function createHttpBrowser(issuer, headers = {}, onResponse = () => {}) {
  const { origin: site } = new URL(issuer)
  const cookies = new Map()
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

  /**
   * @param {URL} url
   * @param {URLSearchParams} [body]
   * @returns {Promise<Page>}
   */
  async function request(url, body) {
    if (url.origin !== site) return { url, status: 0, html: '' }
    const own = body && { origin: site, 'sec-fetch-site': 'same-origin' }
    const began = performance.now()
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: cookie(), ...own, ...headers },
      signal: AbortSignal.timeout(120_000),
      ...(body && { method: 'POST', body })
    })
    for (const line of response.headers.getSetCookie()) keep(line)
    const html = await response.text()
    onResponse({ path: url.pathname, status: response.status, milliseconds: performance.now() - began })
    const location = response.headers.get('location')
    // The browser follows only 303, after which the next request is a GET (RFC 9700 §4.12).
    if (response.status === 303 && location !== null) return request(new URL(location, url))
    return { url, status: response.status, html }
  }

  /** @param {string} line */
  function keep(line) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (/;\s*max-age=0\b|;\s*expires=[^;]*\b1970\b/i.test(line)) cookies.delete(name)
    else cookies.set(name, value)
  }

  return {
    /** The current value of the Cookie header. */
    cookie,
    /** @param {URL | string} url */
    open: (url) => request(new URL(url)),
    /**
     * Fills in the first form of a page and sends it.
     * @param {Page} page
     * @param {Record<string, string>} fields
     */
    async submit(page, fields) {
      const form = /<form\b[^>]*>[\s\S]*?<\/form>/.exec(page.html)?.[0]
      if (form === undefined) throw new Error(`No form at ${page.url} (${page.status}): ${page.html.slice(0, 1000)}`)
      const body = new URLSearchParams({ ...givenFields(form), ...fields })
      return request(new URL(attribute(form.slice(0, form.indexOf('>')), 'action'), page.url), body)
    }
  }
}

/**
 * Hidden fields and checked boxes.
 * @param {string} form
 * @returns {Record<string, string>}
 */
function givenFields(form) {
  const inputs = [...form.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag)
  const sent = inputs.filter((tag) => / type="hidden"| type="(?:checkbox|radio)".* checked/.test(tag))
  return Object.fromEntries(sent.map((tag) => [attribute(tag, 'name'), attribute(tag, 'value')]))
}

/**
 * @param {string} tag
 * @param {string} name
 */
function attribute(tag, name) {
  return unescapeHtml(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '')
}

/** @param {string} text */
function unescapeHtml(text) {
  /** @type {Record<string, string>} */
  const named = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'", '#x3D': '=', '#x60': '`' }
  return text.replace(/&(#?\w+);/g, (whole, name) => named[name] ?? whole)
}
