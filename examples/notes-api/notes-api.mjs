// An API whose users choose which of their notes an app may read. The README says how to run it.
import { randomUUID } from 'node:crypto'
import formbody from '@fastify/formbody'
import { bearerPlugin } from '@valetkey/guard/fastify'
import { fastify } from 'fastify'

const { ISSUER: issuer, RESOURCE: resource, INTROSPECTION_URL: url, PORT = '4800' } = process.env
const { INTROSPECTION_CLIENT_ID: clientId, INTROSPECTION_CLIENT_SECRET: clientSecret } = process.env
const notes = ['Shopping', 'Birthday', 'Diary'].map((title, place) => ({ id: `n${place + 1}`, title }))

/** What users chose, by its identifier. A real API has a table for it, and checks that the user owns what is chosen. */
const choices = new Map()
/** The hand-overs of pages that are open, by the value of the cookie. */
const open = new Map()

const app = fastify()
await app.register(formbody)
const options = { scopesSupported: ['notes.chosen'], authorizationDetailTypes: ['notes'] }
await app.register(bearerPlugin, { issuer, resource, introspection: { url, clientId, clientSecret }, ...options })

app.get('/notes', { onRequest: app.requireAccessToken('notes.chosen') }, async ({ accessToken }) => {
  const identifiers = accessToken.authorizationDetails?.map(({ identifier }) => identifier) ?? []
  const chosen = identifiers.map((identifier) => choices.get(identifier))
  // A choice that does not exist gives access to nothing, never to everything.
  const ids = chosen.flatMap((choice) => (choice?.owner === accessToken.subject ? choice.ids : []))
  return { notes: notes.filter(({ id }) => ids.includes(id)) }
})

app.get('/choose', async ({ query: { handover } }, reply) => {
  const started = await call('start', { handover })
  if (started === undefined) return sendPage(reply.code(410), '<p>This page was opened before. Start again in the app.')
  const key = randomUUID()
  open.set(key, { handover, ...started })
  setTimeout(() => open.delete(key), started.expires_in * 1000).unref()
  reply.header('set-cookie', `choice=${key}; HttpOnly; SameSite=Lax; Path=/choose; Max-Age=${started.expires_in}`)
  const present = choices.get(started.identifier)?.ids ?? []
  const boxes = notes.map(({ id, title }) => {
    return `<p><label><input type="checkbox" name="note" value="${id}"${present.includes(id) ? ' checked' : ''}> ${title}</label>`
  })
  const heading = `<h1>Which notes may ${escapeHtml(started.client_name)} see?</h1>`
  const cancel = `<a href="${escapeHtml(started.return_to)}">Cancel</a>`
  return sendPage(reply, `${heading}<form method="post">${boxes.join('')}<p><button>Done</button> ${cancel}</form>`)
})

app.post('/choose', async ({ body, headers }, reply) => {
  const choice = open.get(/(?:^|; )choice=([^;]*)/.exec(headers.cookie ?? '')?.[1])
  if (choice === undefined) return sendPage(reply.code(410), '<p>This page is too old. Start again in the app.')
  const ids = notes.map(({ id }) => id).filter((id) => [body.note].flat().includes(id))
  const identifier = choice.identifier ?? randomUUID()
  const summary = ids.length === 1 ? '1 note' : `${ids.length} notes`
  const finished = await call('finish', { handover: choice.handover, type: 'notes', identifier, summary })
  // Stored only now: after Allow, only the page that changes a choice may change what the app sees.
  if (finished !== undefined) choices.set(identifier, { owner: choice.sub, ids })
  return reply.redirect(finished?.return_to ?? choice.return_to, 303)
})

/** Calls the authorization server. @returns undefined if the hand-over was used or has ended */
async function call(step, message) {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  const headers = { authorization, 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: JSON.stringify(message), signal: AbortSignal.timeout(5_000) }
  const response = await fetch(new URL(`selections/${step}`, url), request)
  if (response.status === 404) return undefined
  if (!response.ok) throw Object.assign(new Error('The authorization server is unavailable'), { statusCode: 503 })
  return response.json()
}

const escapeHtml = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)
const sendPage = (reply, html) =>
  reply.type('text/html; charset=utf-8').send(`<!doctype html><title>Notes</title>${html}`)
console.log(`Notes at ${await app.listen({ port: Number(PORT) })}/notes`)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close())
