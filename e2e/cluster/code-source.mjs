// Authorization codes, one after the other, by the pages a person sees: signed in and allowed once, remembered after it.

/** @returns a function that gives one new code a call */
export async function createCodeSource({ issuer, clientId, redirectUri, username, password }) {
  const cookies = new Map()
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'files.read'
  })
  const start = `${issuer}/oauth/authorize?${query}`

  const login = await open(start)
  const consent = await submit(login, { username, password })
  codeOf(await submit(consent, { decision: 'allow' }))
  return async () => codeOf(await open(start))

  async function open(url, body) {
    if (!url.startsWith(issuer)) return { url, html: '' }
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie, ...(body && { origin: issuer }) },
      ...(body && { method: 'POST', body })
    })
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
    if (form === undefined) throw new Error(`There is no form at ${url}: ${html.slice(0, 500)}`)
    const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, ...pair]) => pair)
    const body = new URLSearchParams({ ...Object.fromEntries(hidden), ...fields })
    return open(new URL(action.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&'), url).href, body)
  }
}

function codeOf({ url, html }) {
  const code = new URL(url).searchParams.get('code')
  if (code === null) throw new Error(`No code came of ${url}: ${html.slice(0, 500)}`)
  return code
}
