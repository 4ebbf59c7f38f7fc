// A thread that sends anonymous requests from many loopback addresses until it gets a message.
// workerData: { app, issuer, ports: { public, internal, operator, files }, addresses, perSecond, guessesPerSecond }
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { anonymousRequests } from './anonymous-requests.mjs'

const AT_ONCE = { anonymous: 48, guesses: 600 }
const { app, issuer, ports, addresses, perSecond, guessesPerSecond } = workerData
const kinds = Object.entries(anonymousRequests(app))
const answers = new Map()
let running = true
let sent = 0
const underWay = { anonymous: 0, guesses: 0 }

// One address reuses its connections. With many addresses, each request opens a connection.
const agent = new Agent({ keepAlive: addresses === 1, maxSockets: AT_ONCE.anonymous + AT_ONCE.guesses })

parentPort.once('message', () => {
  running = false
})

const addressOf = (number) => {
  const place = 1 + (number % addresses)
  return `127.${16 + (place >> 16)}.${(place >> 8) & 255}.${place & 255}`
}

function ask(localAddress, { listener, body, ...what }) {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...what,
      host: '127.0.0.1',
      port: ports[listener],
      agent,
      timeout: 60_000,
      localAddress
    })
    outgoing.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('no response within 60 s')))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

async function sendOne(number) {
  const [kind, make] = kinds[number % kinds.length]
  const { status } = await ask(addressOf(Math.floor(number / kinds.length)), make(number))
  return `${kind}: ${status}`
}

/** Sends a valid form with a wrong password. */
async function guess(number) {
  const from = addressOf(number)
  const page = await ask(from, { listener: 'public', method: 'GET', path: '/login' })
  const cookie = (page.headers['set-cookie'] ?? []).map((line) => line.split(';', 1)[0]).join('; ')
  const [, token = ''] = /name="csrf_token" value="([^"]*)"/.exec(page.text) ?? []
  const { status } = await ask(from, {
    listener: 'public',
    method: 'POST',
    path: '/login',
    headers: { cookie, origin: issuer, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ csrf_token: token, username: `user-${number}`, password: 'wrong' }).toString()
  })
  return `sign-in, wrong password: ${status}`
}

async function repeat(kind, perSecond, send) {
  const startedAt = performance.now()
  for (let number = 0; running; number++) {
    await wait(Math.max(0, startedAt + (number / perSecond) * 1_000 - performance.now()))
    while (running && underWay[kind] >= AT_ONCE[kind]) await wait(2)
    if (!running) break
    underWay[kind] += 1
    sent += 1
    send(number)
      .catch((error) => `no response: ${error.code ?? error.message}`)
      .then((answer) => {
        underWay[kind] -= 1
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
      })
  }
}

await Promise.all([repeat('anonymous', perSecond, sendOne), repeat('guesses', guessesPerSecond, guess)])
while (underWay.anonymous + underWay.guesses > 0) await wait(10)
agent.destroy()
parentPort.postMessage({ sent, answers: [...answers].sort() })
