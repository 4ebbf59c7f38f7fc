// Serves single-page-app.html with its library and its settings. In production, use any web server with the same headers.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { ISSUER, RESOURCE_URL, CLIENT_ID, PORT } = process.env
const page = readFileSync(new URL('single-page-app.html', import.meta.url), 'utf8')
const settings = JSON.stringify({ issuer: ISSUER, resourceUrl: RESOURCE_URL, clientId: CLIENT_ID })
const files = new Map([
  ['/', ['text/html', page]],
  ['/oauth4webapi.js', ['text/javascript', readFileSync(new URL(import.meta.resolve('oauth4webapi')))]],
  ['/settings', ['application/json', settings]]
])
const apis = [ISSUER, RESOURCE_URL].map((url) => new URL(url).origin).join(' ')
// Only these scripts run, and they can connect only to this server, Valetkey and the API.
const [, script] = /<script type="module">([\s\S]*)<\/script>/.exec(page)
const hash = createHash('sha256').update(script).digest('base64')
const sources = `script-src 'self' 'sha256-${hash}'; connect-src 'self' ${apis}; img-src data:`
const policy = `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

createServer((request, response) => {
  const [type = 'text/plain', body = 'Not found'] = files.get(request.url.split('?')[0]) ?? []
  const headers = {
    'content-type': `${type}; charset=utf-8`,
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer'
  }
  response.writeHead(body === 'Not found' ? 404 : 200, headers).end(body)
}).listen(PORT, '127.0.0.1', () => console.log(`Open http://127.0.0.1:${PORT}/`))
