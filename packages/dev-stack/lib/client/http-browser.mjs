/** @returns a minimal browser: cookies, redirects within one site, hidden fields, Origin of form POSTs */
export function createHttpBrowser(issuer, headers = {}, onResponse = () => {}) {
  const { origin: site } = new URL(issuer)
  const cookies = new Map()
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

  async function request(url, body) {
    if (url.origin !== site) return { url, status: 0, html: '' }
    const own = body && { origin: site, 'sec-fetch-site': 'same-origin' }
    const began = performance.now()
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: cookie(), ...own, ...headers },
      signal: AbortSignal.timeout(10_000),
      ...(body && { method: 'POST', body })
    })
    for (const line of response.headers.getSetCookie()) keep(line)
    const html = await response.text()
    onResponse({ path: url.pathname, status: response.status, milliseconds: performance.now() - began })
    const location = response.headers.get('location')
    // Only 303, after which the next request is a GET (RFC 9700 §4.12).
    if (response.status === 303 && location !== null) return request(new URL(location, url))
    return { url, status: response.status, html }
  }

  function keep(line) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (/;\s*max-age=0\b|;\s*expires=[^;]*\b1970\b/i.test(line)) cookies.delete(name)
    else cookies.set(name, value)
  }

  return {
    cookie,
    open: (url) => request(new URL(url)),
    async submit(page, fields) {
      const form = /<form\b[^>]*>[\s\S]*?<\/form>/.exec(page.html)?.[0]
      if (form === undefined) throw new Error(`No form at ${page.url} (${page.status}): ${page.html.slice(0, 1000)}`)
      const body = new URLSearchParams({ ...givenFields(form), ...fields })
      return request(new URL(attribute(form.slice(0, form.indexOf('>')), 'action'), page.url), body)
    }
  }
}

/** Hidden fields and checked boxes. */
function givenFields(form) {
  const inputs = [...form.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag)
  const sent = inputs.filter((tag) => / type="hidden"| type="checkbox".* checked/.test(tag))
  return Object.fromEntries(sent.map((tag) => [attribute(tag, 'name'), attribute(tag, 'value')]))
}

function attribute(tag, name) {
  return unescapeHtml(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '')
}

function unescapeHtml(text) {
  const named = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'", '#x3D': '=', '#x60': '`' }
  return text.replace(/&(#?\w+);/g, (whole, name) => named[name] ?? whole)
}
