// As much of a browser as two forms need: it keeps cookies, sends forms with what is hidden in them, and follows
// redirects within one site.
export function createBrowser(site) {
  const cookies = new Map()

  async function send(url, init = {}) {
    const answer = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...init.headers, cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      signal: AbortSignal.timeout(10_000)
    })
    for (const cookie of answer.headers.getSetCookie()) keep(cookie)
    const location = answer.headers.get('location')
    if (location === null) return { url, status: answer.status, html: await answer.text() }
    const next = new URL(location, url)
    // The app's own address: nobody listens there, its query is the answer.
    if (next.origin !== site) return { url: next.href, status: answer.status, html: '' }
    return send(next.href)
  }

  function keep(cookie) {
    const [pair = ''] = cookie.split(';')
    const name = pair.slice(0, pair.indexOf('='))
    const value = pair.slice(name.length + 1)
    if (value === '' || /;\s*max-age=0/i.test(cookie)) cookies.delete(name)
    else cookies.set(name, value)
  }

  return {
    open: (url) => send(url),

    /** Sends the first form of a page, its hidden fields and these. */
    submit(page, fields) {
      const form = /<form\b[^>]*>[\s\S]*?<\/form>/.exec(page.html)?.[0]
      if (form === undefined) throw new Error(`no form at ${page.url} (${page.status}): ${page.html.slice(0, 300)}`)
      const [tag = ''] = /<form\b[^>]*>/.exec(form) ?? []
      const hidden = [...form.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g)].map(([input]) => [
        attribute(input, 'name'),
        attribute(input, 'value')
      ])
      return send(new URL(attribute(tag, 'action'), page.url).href, {
        method: 'POST',
        headers: { origin: site, 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams([...hidden, ...Object.entries(fields)])
      })
    }
  }
}

const ENTITIES = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&#x3D;': '=' }

function attribute(tag, name) {
  const [, value = ''] = new RegExp(`\\b${name}="([^"]*)"`).exec(tag) ?? []
  return value.replace(/&(?:[a-z]+|#x[0-9A-F]+);/g, (entity) => ENTITIES[entity] ?? entity)
}
