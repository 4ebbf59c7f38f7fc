import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createHttpBrowser, type HttpBrowser } from '../../packages/dev-stack/lib/client/http-browser.mjs'
import { simulateUser } from '../../packages/dev-stack/lib/client/user.mjs'
import { freePort } from '../../packages/dev-stack/lib/processes/ports.mjs'
import { type RegisteredApp, registerApp } from '../support/registered-app.js'
import type { Addresses, Stack } from '../system/stack.mjs'
import type { StackWorld } from './use-stack.js'

const program = fileURLToPath(new URL('../../examples/notes-api/notes-api.mjs', import.meta.url))

/** Starts the example with the settings in its README. @returns a function that stops it */
async function startNotesApi(
  at: Addresses,
  resource: string,
  credential: { client_id?: string; client_secret?: string }
): Promise<() => Promise<unknown>> {
  const child = spawn(process.execPath, [program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ISSUER: at.issuer,
      RESOURCE: resource,
      INTROSPECTION_URL: `${at.internalUrl}/introspect`,
      INTROSPECTION_CLIENT_ID: credential.client_id,
      INTROSPECTION_CLIENT_SECRET: credential.client_secret,
      PORT: new URL(resource).port
    }
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  return () => {
    child.kill()
    return ended
  }
}

export function notesApi(world: StackWorld): void {
  let stack: Stack
  let at: Addresses
  let app: RegisteredApp
  let resource: string
  let stop: undefined | (() => Promise<unknown>)
  let user: ReturnType<typeof simulateUser>
  /** The same browser at the API, which has cookies of its own. */
  let there: HttpBrowser

  beforeAll(async () => {
    ;({ stack, at } = world)
    resource = `http://127.0.0.1:${await freePort()}`
    const credential = await stack.valetkey(['resource-servers', 'create', '--name', 'notes', '--audience', resource])
    const scope = ['notes.chosen', '--title', 'See the notes that you choose', '--selects', '--resource', 'notes']
    await stack.valetkey(['scopes', 'create', ...scope])
    const registered = { name: 'Note Reader', redirectUri: 'https://reader.example/callback', scope: 'notes.chosen' }
    app = await registerApp(stack, at, registered)
    stop = await startNotesApi(at, resource, credential)
    user = simulateUser(at.issuer, at)
    there = createHttpBrowser(resource)
  })
  afterAll(() => stop?.())

  /** Chooses on the page of the API, which the form of the page here leads to. */
  async function choose(pageUrl: URL, note: string) {
    const page = await there.open(pageUrl)
    expect(page.html).toContain('Which notes may Note Reader see?')
    const { url } = await there.submit(page, { note })
    return user.browser.open(url)
  }

  async function titles(accessToken: string): Promise<string[]> {
    const response = await fetch(`${resource}/notes`, { headers: { authorization: `Bearer ${accessToken}` } })
    const { notes } = (await response.json()) as { notes: { title: string }[] }
    return notes.map(({ title }) => title)
  }

  test('an app gets the notes that the user chose at the API, and after a change the others', async () => {
    const consent = await user.open(app.request())
    const { url } = await user.browser.submit(consent, { decision: 'choose' })
    expect(`${url.origin}${url.pathname}`).toBe(`${resource}/choose`)
    const chosen = await choose(url, 'n2')
    expect(chosen.html).toContain('1 note')
    // The address works once.
    expect((await createHttpBrowser(resource).open(url)).status).toBe(410)

    const answer = await user.browser.submit(chosen, { decision: 'allow' })
    const { accessToken: token } = await app.redeem(answer.url.searchParams)
    expect(await titles(token)).toEqual(['Birthday'])

    const apps = await user.browser.open(`${at.issuer}/account/apps`)
    const form = apps.html.slice(apps.html.indexOf('1 note'))
    const change = await user.browser.submit({ ...apps, html: form.slice(form.indexOf('<form')) }, {})
    const changed = await choose(change.url, 'n3')
    expect([changed.url.pathname, changed.status]).toEqual(['/account/apps', 200])
    expect(await titles(token)).toEqual(['Diary'])
  })
}
