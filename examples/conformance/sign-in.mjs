// A script for `oauth-conformance --sign-in`: signs in at Valetkey and allows access, without a browser. Use it as a start for
// another server. SIGN_IN_USERNAME and SIGN_IN_PASSWORD name the user. See docs/conformance.md.
const SHOWS_AN_ERROR = 3
const MAX_STEPS = 10

const { SIGN_IN_USERNAME: username = 'alice', SIGN_IN_PASSWORD: password = '' } = process.env
const request = new URL(process.argv[2])
const cookies = new Map()

let step = await visit(request)
for (let steps = 0; step.left === undefined && step.status < 400 && steps < MAX_STEPS; steps += 1) {
  step = await submit(step, { username, password, decision: 'allow' })
}
if (step.left === undefined) process.exit(step.status < 400 ? 1 : SHOWS_AN_ERROR)
console.log(step.left.href)

/** Opens a page, with the redirects of this server. `left` is the first URL elsewhere, which is not opened. */
async function visit(url, body) {
  if (url.origin !== request.origin) return { left: url, status: 0, html: '' }
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const headers = {
    accept: 'text/html',
    cookie,
    ...(body && { origin: request.origin, 'sec-fetch-site': 'same-origin' })
  }
  const response = await fetch(url, { redirect: 'manual', headers, ...(body && { method: 'POST', body }) })
  for (const line of response.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)
    cookies.set(name, value)
  }
  const location = response.headers.get('location')
  if (location !== null) return visit(new URL(location, url))
  return { url, status: response.status, html: await response.text() }
}

/** Sends the first form of a page: its hidden fields, and the given values that it has fields or buttons for. */
function submit({ url, html }, answers) {
  const form = /<form\b[\s\S]*?<\/form>/.exec(html)?.[0] ?? ''
  const fields = [...form.matchAll(/<(?:input|button)\b[^>]*>/g)].map(([tag]) => tag)
  const names = fields.map((tag) => attribute(tag, 'name'))
  const given = fields
    .filter((tag) => / type="hidden"/.test(tag))
    .map((tag) => ['name', 'value'].map((n) => attribute(tag, n)))
  const ours = Object.entries(answers).filter(([name]) => names.includes(name))
  return visit(new URL(attribute(form, 'action'), url), new URLSearchParams([...given, ...ours]))
}

function attribute(tag, name) {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  return value.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=')
}
