// Imports users with bcrypt hashes and signs a sample of them in, several at once: each hash is argon2id afterwards, and a
// second sign-in works. Not run by npm test; some minutes on two cores.
// node e2e/import-sign-in.mjs [--users 10000] [--sample 1000] [--parallel 20] [--cost 10]
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createHttpBrowser } from '../packages/dev-stack/lib/client/http-browser.mjs'
import { readOptions, runOnCluster } from './system/run-on-cluster.mjs'

const TIME_LIMIT_MINUTES = 20
/** Users whose first sign-in is also tried with a wrong password, and twice at the same moment. */
const TRIED_HARDER = 50
/** A busy machine may need longer than a browser waits, or respond with 503. */
const MOST_TRIES = 5
let repeated = 0

const { hash } = createRequire(new URL('../services/authorization-server/package.json', import.meta.url))(
  '@node-rs/bcrypt'
)
const { users, sample, parallel, cost } = readOptions({
  users: [10_000, 1, 100_000],
  sample: [1_000, 1, 10_000],
  parallel: [20, 1, 100],
  cost: [10, 4, 15]
})
const signingIn = Math.min(sample, users)
// The limits of failures are not the subject.
const settings = { LIMITS_FACTOR: '1000' }
await runOnCluster({ minutes: TIME_LIMIT_MINUTES, authorizationServers: 1, settings }, importAndSignIn)

async function importAndSignIn(cluster) {
  const numbers = Array.from({ length: signingIn }, (_, index) => index)
  const [hashes, hashing] = await timed(() => atOnce(numbers, 4, (number) => hash(passwordOf(number), { cost })))
  const [imported, importing] = await timed(() => importUsers(cluster, hashes))
  const [results, signingInTook] = await timed(() =>
    atOnce(numbers, parallel, (number) => signInTwice(cluster, number))
  )
  const stored = await countHashes(cluster)
  const wrong = results.flat()
  const isRight =
    imported.created === users &&
    wrong.length === 0 &&
    stored.argon2id === signingIn &&
    stored.bcrypt === users - signingIn
  return [
    isRight ? 0 : 1,
    [
      `${signingIn} bcrypt hashes of cost ${cost} made in ${hashing} s`,
      `${imported.created} of ${users} users imported in ${importing} s`,
      `${signingIn} users signed in twice, ${parallel} at once, in ${signingInTook} s; unexpected: ${wrong.length}, repeated: ${repeated}`,
      ...wrong.slice(0, 20),
      `hashes afterwards: ${stored.argon2id} argon2id with the present parameters, ${stored.bcrypt} bcrypt`
    ]
  ]
}

async function importUsers({ valetkey }, hashes) {
  const directory = await mkdtemp(path.join(tmpdir(), 'valetkey-import-'))
  try {
    const file = path.join(directory, 'users.ndjson')
    const lines = Array.from({ length: users }, (_, number) =>
      JSON.stringify({ username: nameOf(number), password_hash: hashes[number % hashes.length] })
    )
    await writeFile(file, lines.join('\n'))
    return await valetkey(['users', 'import', file, '--json'])
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** @returns what was not as expected */
async function signInTwice({ issuer }, number) {
  const attempt = async (expected, password = passwordOf(number)) => {
    let result
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const address = `10.1.${number >> 8}.${number & 255}`
      result = await signIn(createHttpBrowser(issuer, { 'x-forwarded-for': address }), issuer, nameOf(number), password)
      if (!/^503|^no response/.test(result)) break
      repeated += 1
    }
    return result === expected ? [] : [`${nameOf(number)}: ${result}, not ${expected}`]
  }
  const [signedIn, refused] = ['200 /account/apps', '422 /login']
  const isTriedHarder = number < TRIED_HARDER
  const before = isTriedHarder ? await attempt(refused, `${passwordOf(number)}!`) : []
  const first = await Promise.all(Array.from({ length: isTriedHarder ? 2 : 1 }, () => attempt(signedIn)))
  const after = isTriedHarder ? await attempt(refused, `${passwordOf(number)}!`) : []
  return [...before, ...first.flat(), ...(await attempt(signedIn)), ...after]
}

async function signIn(browser, issuer, username, password) {
  try {
    const page = await browser.submit(await browser.open(`${issuer}/login`), { username, password })
    return `${page.status} ${page.url.pathname}`
  } catch (error) {
    return `no response: ${error.message}`
  }
}

async function countHashes({ query }) {
  const [counts] = await query(
    `select count(*) filter (where password_hash like '$argon2id$v=19$m=19456,t=2,p=1$%')::int as argon2id,
      count(*) filter (where password_hash like '$2b$%')::int as bcrypt from users`
  )
  return counts
}

/** Runs the work for each value, a bounded number at once. @returns the results in the order of the values */
async function atOnce(values, most, work) {
  const results = []
  const rest = values.entries()
  const worker = async () => {
    for (const [index, value] of rest) results[index] = await work(value)
  }
  await Promise.all(Array.from({ length: most }, worker))
  return results
}

async function timed(work) {
  const began = performance.now()
  const result = await work()
  return [result, ((performance.now() - began) / 1000).toFixed(1)]
}

function nameOf(number) {
  return `user-${number}`
}

function passwordOf(number) {
  return `old secret ${number}`
}
