// One code, many exchanges at once, over two processes: exactly one succeeds. Nothing of it is part of npm test.
// node e2e/exchange-storm.mjs [--codes 1000] [--parallel 100]
import { Agent, request } from 'node:http'
import { parseArgs } from 'node:util'
import { createCodeSource } from './cluster/code-source.mjs'
import { startCluster } from './cluster/start-cluster.mjs'

const TIME_LIMIT_MINUTES = 20
const REDIRECT_URI = 'https://app.example/callback'
const PASSWORD = 'correct horse battery staple'

const { values } = parseArgs({
  options: { codes: { type: 'string', default: '1000' }, parallel: { type: 'string', default: '100' } }
})
const [codes, parallel] = [values.codes, values.parallel].map(Number)
if (!(codes >= 1 && codes <= 10_000 && parallel >= 2 && parallel <= 1_000)) {
  console.error('--codes is a number from 1 to 10000, --parallel one from 2 to 1000.')
  process.exit(2)
}

const agent = new Agent({ keepAlive: true, maxSockets: 100 })
const stack = await startCluster()
let stopped
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => finish(130, [`stopped by ${signal}`]))
const limit = setTimeout(() => finish(1, [`stopped after ${TIME_LIMIT_MINUTES} minutes`]), TIME_LIMIT_MINUTES * 60_000)
limit.unref()

try {
  await finish(...(await storm()))
} catch (error) {
  await finish(1, [error.stack])
}

async function storm() {
  const { issuer, authorizationServers: instances, valetkey } = stack
  await valetkey(['users', 'create', 'alice', '--password-stdin'], { input: PASSWORD })
  const registration = ['--name', 'Storm', '--redirect-uri', REDIRECT_URI, '--scope', 'files.read']
  const client = await valetkey(['clients', 'create', ...registration, '--consent', 'remember', '--json'])
  const files = ['resource-servers', 'create', '--name', 'files', '--audience', 'https://files.example', '--json']
  const resourceServer = await valetkey(files)
  const account = { username: 'alice', password: PASSWORD }
  const nextCode = await createCodeSource({ issuer, clientId: client.client_id, redirectUri: REDIRECT_URI, ...account })

  const counts = new Map()
  const notOnce = []
  let alive = 0
  const startedAt = performance.now()
  for (let done = 0; done < codes; done += 1) {
    const form = { grant_type: 'authorization_code', code: await nextCode(), redirect_uri: REDIRECT_URI }
    const answers = await Promise.all(
      Array.from({ length: parallel }, (_, index) =>
        post(instances[index % instances.length].publicPort, '/token', form, client)
      )
    )
    for (const { kind } of answers) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    const won = answers.filter(({ kind }) => kind === '200')
    if (won.length !== 1) notOnce.push(won.length)
    // The others were right in everything, so the tokens of the one are dead.
    for (const { body } of won) {
      const token = { token: JSON.parse(body).access_token }
      const { body: answer } = await post(instances[0].internalPort, '/introspect', token, resourceServer)
      if (answer !== '{"active":false}') alive += 1
    }
    if ((done + 1) % 100 === 0) console.log(`${done + 1} codes`)
  }
  const seconds = (performance.now() - startedAt) / 1000
  const right =
    counts.size === 2 && counts.get('200') === codes && counts.get('400 invalid_grant') === codes * (parallel - 1)
  const lines = [
    `${codes} codes, each exchanged ${parallel} times at once over two processes, in ${seconds.toFixed(1)} s`,
    ...[...counts].sort().map(([kind, count]) => `${kind}: ${count}`),
    `codes without exactly one success: ${notOnce.length}`,
    `tokens alive after it: ${alive}`
  ]
  return [right && notOnce.length === 0 && alive === 0 ? 0 : 1, lines]
}

function post(port, path, form, { client_id: id, client_secret: secret }) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const sent = request(
      { host: '127.0.0.1', port, path, method: 'POST', auth: `${id}:${secret}`, headers, agent, timeout: 30_000 },
      (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (text) => {
          body += text
        })
        response.on('error', reject)
        response.on('end', () => {
          const { statusCode } = response
          resolve({ kind: statusCode === 200 ? '200' : `${statusCode} ${JSON.parse(body).error}`, body })
        })
      }
    )
    sent.on('timeout', () => sent.destroy(new Error('no answer within 30 s')))
    sent.on('error', reject)
    sent.end(new URLSearchParams(form).toString())
  })
}

async function finish(code, lines) {
  if (stopped) return
  stopped = true
  agent.destroy()
  await stack.stop()
  console.log(lines.join('\n'))
  process.exit(code)
}
