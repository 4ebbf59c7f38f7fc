// Signs a user in and allows a client once, by the pages a person sees. Afterwards the same request gives codes at once.

/** @returns the value of the Cookie header of that session */
export async function signInAndAllow(authorizeUrl, { username, password }) {
  const { origin } = new URL(authorizeUrl)
  const cookies = new Map()
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

  const login = await open(authorizeUrl)
  const consent = await submit(login, { username, password })
  const end = await submit(consent, { decision: 'allow' })
  if (!new URL(end.url).searchParams.has('code')) throw new Error(`no code at ${end.url}: ${end.html.slice(0, 500)}`)
  return cookie()

  async function open(url, body) {
    if (!url.startsWith(origin)) return { url, html: '' }
    const headers = { accept: 'text/html', cookie: cookie(), ...(body && { origin }) }
    const response = await fetch(url, { redirect: 'manual', headers, ...(body && { method: 'POST', body }) })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
      cookies.set(name, value)
    }
    const html = await response.text()
    const location = response.headers.get('location')
    return location === null ? { url, html } : open(new URL(location, url).href)
  }

  function submit({ url, html }, fields) {
    const [, action, form] = /<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/.exec(html) ?? []
    if (form === undefined) throw new Error(`no form at ${url}: ${html.slice(0, 500)}`)
    const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, ...pair]) => pair)
    const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...fields })
    return open(new URL(action.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&'), url).href, body)
  }
}
