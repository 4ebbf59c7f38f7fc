import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Administration, lastChangeIn, startAdministration } from '../../support/administration.js'
import { AUDIENCE, startTestServer, type TestServer, until } from '../../support/authorization-server.js'
import { runCommand } from '../../support/command-line.js'
import { authorizeUrl, PASSWORD } from '../../support/flow.js'
import { signedInBrowser } from '../../support/pages.js'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
afterAll(() => server.close())

const servers = (...args: string[]) => runCommand(server.database, ['resource-servers', ...args])

let apis = 0
async function created(...args: string[]): Promise<{ client_id: string; audience: string; title_in?: object }> {
  apis += 1
  const base = ['--name', `api-${apis}`, '--audience', `https://api-${apis}.example`]
  const { code, out, said } = await servers('create', ...base, ...args, '--json')
  expect([code, said]).toEqual([0, ''])
  return JSON.parse(out)
}
const GERMAN = ['--title', 'Reports', '--title-in', 'de=Berichte', '--title-in', 'pt-BR= Relat\u00f3rios ']
const TITLES = { de: 'Berichte', 'pt-BR': 'Relat\u00f3rios' }
const stored = async (clientId: string) => {
  const { title, title_in } = (await admin.call('GET', `/resource-servers/${clientId}`)).json()
  return { title, title_in }
}

describe('titles of an API in other languages', () => {
  test('resource-servers create stores them, and a second credential has them, too', async () => {
    const first = await created(...GERMAN)
    expect(first.title_in).toEqual(TITLES)
    const args = ['rotate-secret', first.client_id, '--json']
    expect(JSON.parse((await servers(...args)).out)).toMatchObject({ title: 'Reports', title_in: TITLES })
    const { client_id } = JSON.parse(
      (await servers('create', '--name', 'other', '--audience', first.audience, '--json')).out
    )
    expect(await stored(client_id)).toEqual({ title: 'Reports', title_in: TITLES })
  })

  test.each([
    { name: '--title-in adds one and replaces another', args: ['--title-in', 'de=Zahlen', '--title-in', 'ar=\u0623'] },
    { name: '--drop-language deletes one', args: ['--drop-language', 'pt-BR'] },
    { name: '--title keeps them', args: ['--title', 'Figures'] },
    { name: '--title "" deletes all', args: ['--title', ''] }
  ])('resource-servers update $name, for all credentials, with an audit entry', async ({ name, args }) => {
    const expected = {
      '--title-in adds one and replaces another': {
        title: 'Reports',
        title_in: { ...TITLES, de: 'Zahlen', ar: '\u0623' }
      },
      '--drop-language deletes one': { title: 'Reports', title_in: { de: 'Berichte' } },
      '--title keeps them': { title: 'Figures', title_in: TITLES },
      '--title "" deletes all': { title: undefined, title_in: undefined }
    }[name]
    const { client_id } = await created(...GERMAN)
    const second = JSON.parse((await servers('rotate-secret', client_id, '--json')).out).client_id
    expect((await servers('update', client_id, ...args)).code).toBe(0)
    expect(await stored(client_id)).toEqual(expected)
    expect(await stored(second)).toEqual(expected)
    const changes = name.startsWith('--title ') ? { title: { from: 'Reports' } } : { title_in: { from: TITLES } }
    expect(await lastChangeIn(server)).toMatchObject({ event: 'resource_server_updated', details: { changes } })
  })

  test.each([
    { name: 'of no form', args: ['--title', 'Reports', '--title-in', 'Berichte'], said: 'language=text' },
    { name: 'without a title', args: ['--title-in', 'de=Berichte'], said: 'pass a title, too' },
    {
      name: 'over 100 characters',
      args: ['--title', 'Reports', '--title-in', `de=${'x'.repeat(101)}`],
      said: 'the title in de must have 1 to 100 characters'
    }
  ])('resource-servers create with one $name is wrong usage (2), and nothing is created', async ({ args, said }) => {
    const audience = 'https://refused.example'
    const result = await servers('create', '--name', 'refused', '--audience', audience, ...args)
    expect([result.code, result.out, result.said]).toEqual([2, '', expect.stringContaining(said)])
    expect((await servers('list')).out).not.toContain(audience)
  })

  test('resource-servers update without an option is wrong usage (2), which names all', async () => {
    const { client_id } = await created()
    const { code, said } = await servers('update', client_id)
    expect([code, said]).toEqual([2, expect.stringContaining('--title-in or --drop-language or --dpop')])
  })

  test('POST and PATCH of the administration API store them; {} deletes all', async () => {
    const body = { name: 'http', audience: 'https://http.example', title: 'Reports', title_in: TITLES }
    const made = await admin.call('POST', '/resource-servers', body)
    expect([made.statusCode, made.json()]).toEqual([201, expect.objectContaining(body)])
    const path = `/resource-servers/${made.json().client_id}`
    expect((await admin.call('PATCH', path, { title_in: { de: 'Zahlen' } })).json()).toMatchObject({
      title: 'Reports',
      title_in: { de: 'Zahlen' }
    })
    expect((await admin.call('PATCH', path, { title: 'Figures' })).json()).toMatchObject({ title_in: { de: 'Zahlen' } })
    expect((await admin.call('PATCH', path, { title_in: {} })).json()).not.toHaveProperty('title_in')
    const statusFor = async (titleIn: unknown) => (await admin.call('PATCH', path, { title_in: titleIn })).statusCode
    for (const refused of [{ 'd e': 'x' }, { de: '' }]) expect(await statusFor(refused)).toBe(422)
    for (const malformed of [{ de: 1 }, 'x', null]) expect(await statusFor(malformed)).toBe(400)
  })

  test('the consent page has the one of its language, and another language the title itself', async () => {
    const { clientId } = await server.createResourceServer(AUDIENCE, { title: 'Files', titleIn: { de: 'Dateien' } })
    await server.createUser('reader', PASSWORD)
    const client = await server.createClient({ name: 'Printer' })
    const headingIn = async (language: string) => {
      const browser = await signedInBrowser(server, 'reader')
      const { url } = await browser.open(authorizeUrl(client.clientId))
      return /<h1>(.*)<\/h1>/.exec((await browser.get(url, { 'accept-language': language })).body)?.[1]
    }
    expect(await headingIn('de')).toContain('<bdi>Dateien</bdi>')
    expect(await headingIn('ar')).toContain('<bdi>Files</bdi>')
    await servers('update', clientId, '--title-in', 'ar=\u0627\u0644\u0645\u0644\u0641\u0627\u062a')
    await until(async () => (await headingIn('ar'))?.includes('\u0627\u0644\u0645\u0644\u0641\u0627\u062a') === true)
  })
})
