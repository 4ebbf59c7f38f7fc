// Sends forms of an app, as one signed-in user, beside 20,000 names of clients: valid ones with new names, and ones with 8 MiB of
// control characters. Every form gets a response of the service, and other requests get theirs within a second.
// Not run by npm test; about a minute.
// node e2e/form-flood.mjs [--seconds 20] [--parallel 8] [--names 20000] [--factor 1]
// `--factor`: LIMITS_FACTOR. A high one measures the work of each form; 1 measures the limit of forms.
import { simulateUser } from '../packages/dev-stack/lib/client/user.mjs'
import { ALICE, registerUser } from '../packages/dev-stack/lib/services/register.mjs'
import { nameKeys } from '../packages/sign-in-rules/dist/index.js'
import { readOptions, runOnCluster } from './system/run-on-cluster.mjs'

const { seconds, parallel, names, factor } = readOptions({
  seconds: [20, 1, 600],
  parallel: [8, 1, 100],
  names: [20_000, 1, 1_000_000],
  factor: [1, 1, 100_000]
})
const CONTROLS = '\u0001'.repeat(8 * 1024 * 1024 - 8_192)

const settings = { DEVELOPER_APPS: 'approved', LIMITS_FACTOR: String(factor) }
await runOnCluster({ minutes: 10, authorizationServers: 1, settings }, flood)

async function flood(cluster) {
  await addNames(cluster)
  await registerUser(cluster.valetkey)
  const { issuer } = cluster
  const user = simulateUser(issuer, ALICE)
  const page = await user.open(`${issuer}/account/developer/new`)
  const csrfToken = /name="csrf_token" value="([^"]*)"/.exec(page.html)?.[1] ?? ''
  const until = performance.now() + seconds * 1000
  const [statuses, others] = [new Map(), []]
  const during = async (step) => {
    while (performance.now() < until) await step()
  }
  let number = 0
  const send = async (homePage) => {
    number += 1
    const form = new FormData()
    const fields = { csrf_token: csrfToken, name: `Wind Chimes ${number}`, home_page: homePage, type: 'public' }
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    form.append('redirect_uris', 'not a URI')
    const headers = { cookie: user.browser.cookie(), origin: new URL(issuer).origin, 'sec-fetch-site': 'same-origin' }
    const answer = await fetch(`${issuer}/account/developer/new`, { method: 'POST', body: form, headers }).then(
      (response) => response.text().then(() => String(response.status)),
      // The service closes the connection of a form that it does not read.
      () => 'closed'
    )
    statuses.set(answer, (statuses.get(answer) ?? 0) + 1)
  }
  await Promise.all([
    ...Array.from({ length: parallel }, (_, index) => during(() => send(index % 4 === 3 ? CONTROLS : ''))),
    during(async () => {
      const began = performance.now()
      const response = await fetch(`${issuer}/.well-known/oauth-authorization-server`)
      await response.text()
      others.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 50))
    })
  ])
  const slowest = Math.max(...others)
  const isExpected = [...statuses.keys()].every((status) => ['413', '422', '429', 'closed'].includes(status))
  return [
    isExpected && slowest < 1_000 ? 0 : 1,
    [
      ...[...statuses].map(([status, count]) => `forms: ${count} times ${status}`),
      `${others.length} other requests, the slowest ${Math.round(slowest)} ms`
    ]
  ]
}

/** Registered clients with names of two words and a number. */
async function addNames({ query }) {
  const clients = Array.from({ length: names }, (_, index) => ({
    client_id: `named-${index}`,
    name: `Garden ${index} Drum`,
    keys: nameKeys(`Garden ${index} Drum`)
  }))
  await query(
    `insert into clients (client_id, name, name_keys, type, redirect_uris, required_scopes, optional_scopes, requires_pkce,
        issues_refresh_tokens, consent, created_at)
      select client_id, name, keys, 'public', '{}', '{}', '{}', true, true, 'ask', now()
      from jsonb_to_recordset($1::jsonb) as given (client_id text, name text, keys text[])`,
    [JSON.stringify(clients)]
  )
}
