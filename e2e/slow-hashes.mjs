// Signs in with slow imported hashes, from many addresses and with wrong passwords, also from clients that leave at once. Right
// passwords get a session or 503 within 20 s, other requests a response within a second, and the process stays below 512 MiB.
// Not run by npm test; Linux only; about a minute.
// node e2e/slow-hashes.mjs [--seconds 30] [--attackers 40]
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createHttpBrowser } from '../packages/dev-stack/lib/client/http-browser.mjs'
import { mostResidentMegabytes } from '../packages/dev-stack/lib/processes/resident-megabytes.mjs'
import { readOptions, runOnCluster } from './system/run-on-cluster.mjs'

const SLOW = 12
const FAST = 8
const PASSWORD = 'gravel walks at dawn'
const { seconds, attackers } = readOptions({ seconds: [30, 1, 600], attackers: [40, 1, 200] })

const ofTheService = createRequire(new URL('../services/authorization-server/package.json', import.meta.url))
const { hash: argon2 } = ofTheService('@node-rs/argon2')
const { hash: bcrypt } = ofTheService('@node-rs/bcrypt')

const settings = { LIMITS_FACTOR: '1000' }
await runOnCluster({ minutes: 10, authorizationServers: 1, settings }, floodAndSignIn)

async function floodAndSignIn(cluster) {
  await importUsers(cluster)
  const until = performance.now() + seconds * 1000
  const [rightAnswers, others] = [[], []]
  const during = async (step) => {
    while (performance.now() < until) await step()
  }
  let number = 0
  const address = () => {
    number += 1
    return { 'x-forwarded-for': `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}` }
  }
  await Promise.all([
    ...Array.from({ length: attackers }, (_, index) =>
      during(() => attack(cluster.issuer, `slow-${index % SLOW}`, address(), index % 2 === 0))
    ),
    ...Array.from({ length: FAST }, (_, index) =>
      during(async () => rightAnswers.push(await signIn(cluster.issuer, `fast-${index}`, address())))
    ),
    during(async () =>
      rightAnswers.push(await signIn(cluster.issuer, `right-slow-${rightAnswers.length % 4}`, address()))
    ),
    during(async () => {
      const began = performance.now()
      const response = await fetch(`${cluster.issuer}/.well-known/oauth-authorization-server`)
      await response.text()
      others.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 50))
    })
  ])
  const results = [...new Set(rightAnswers.map(({ result }) => result))]
  const timesOf = (wanted) => rightAnswers.filter(({ result }) => result === wanted).length
  const slowest = Math.max(...rightAnswers.map(({ milliseconds }) => milliseconds))
  const slowestOther = Math.max(...others)
  const megabytes = mostResidentMegabytes(cluster.authorizationServers[0].pid)
  const isExpected = rightAnswers.every(({ result }) => result === '200 /account/apps' || result === '503 /login')
  const isRight = isExpected && slowest < 20_000 && slowestOther < 1_000 && megabytes < 512
  return [
    isRight ? 0 : 1,
    [
      ...results.map((result) => `right passwords: ${timesOf(result)} times ${result}`),
      `slowest response to a right password: ${Math.round(slowest)} ms`,
      `${others.length} other requests, the slowest ${Math.round(slowestOther)} ms`,
      `most resident memory: ${Math.round(megabytes)} MiB`
    ]
  ]
}

async function importUsers({ valetkey }) {
  const slow = await argon2(PASSWORD, { memoryCost: 262_144, timeCost: 4, parallelism: 1 })
  const slowBcrypt = await bcrypt(PASSWORD, { cost: 14 })
  const fast = await argon2(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  const users = [
    ...Array.from({ length: SLOW }, (_, index) => [`slow-${index}`, index % 3 === 0 ? slowBcrypt : slow]),
    ...Array.from({ length: 4 }, (_, index) => [`right-slow-${index}`, slow]),
    ...Array.from({ length: FAST }, (_, index) => [`fast-${index}`, fast])
  ]
  const directory = await mkdtemp(path.join(tmpdir(), 'valetkey-slow-'))
  try {
    const file = path.join(directory, 'users.ndjson')
    const lines = users.map(([username, hash]) => JSON.stringify({ username, password_hash: hash }))
    await writeFile(file, lines.join('\n'))
    await valetkey(['users', 'import', file, '--json'])
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function signIn(issuer, username, headers) {
  const browser = createHttpBrowser(issuer, headers)
  const page = await browser.open(`${issuer}/login`)
  const began = performance.now()
  const answer = await browser.submit(page, { username, password: PASSWORD })
  return { result: `${answer.status} ${answer.url.pathname}`, milliseconds: performance.now() - began }
}

/** A wrong password. @param {boolean} leaves whether the client closes the connection at once */
async function attack(issuer, username, headers, leaves) {
  const browser = createHttpBrowser(issuer, headers)
  const page = await browser.open(`${issuer}/login`)
  if (!leaves) {
    await browser.submit(page, { username, password: 'wrong' })
    return
  }
  const csrfToken = /name="csrf_token" value="([^"]*)"/.exec(page.html)?.[1] ?? ''
  const body = new URLSearchParams({ csrf_token: csrfToken, username, password: 'wrong' })
  const sent = fetch(`${issuer}/login`, {
    method: 'POST',
    headers: { ...headers, cookie: browser.cookie(), origin: new URL(issuer).origin },
    body,
    signal: AbortSignal.timeout(100)
  })
  await sent.catch(() => undefined)
}
