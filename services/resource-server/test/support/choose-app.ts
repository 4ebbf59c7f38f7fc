import { createHandOvers } from '../../src/choose/hand-overs.js'
import { createSelectionStore } from '../../src/storage/selections.js'
import { createShownFiles } from '../../src/storage/shown-files.js'
import { build, closeApp, PAGE_TOKEN_KEY } from './files-app.js'
import { CREDENTIALS, type FakeHandOver, startSelectionEndpoints } from './selection-endpoints.js'
import { importedFile, openFileStore } from './stored-files.js'

export const RETURN_TO = 'https://auth.example/consent?resume=1'

type Answer = { status: number; headers: Record<string, unknown>; html: string }
type Fields = Readonly<Record<string, string | readonly string[]>>

/** The app on Postgres, with a stand-in for the authorization server. */
export async function openChooseApp(resourceUrl = 'https://files.example') {
  const opened = await openFileStore()
  const { database, files } = opened
  const endpoints = await startSelectionEndpoints()
  const handOvers = createHandOvers({ ...endpoints, ...CREDENTIALS, issuer: 'https://auth.example', type: 'files' })
  const selections = createSelectionStore(database)
  const shownFiles = createShownFiles(database)
  const { publicServer } = build({ resourceUrl, choose: { handOvers, selections, shownFiles, keys: [PAGE_TOKEN_KEY] } })

  async function send(method: 'GET' | 'POST', url: string, headers: Record<string, string>, payload?: string) {
    const { pathname, search } = new URL(url, resourceUrl)
    const response = await publicServer.inject({ method, url: pathname + search, headers, ...(payload && { payload }) })
    return { status: response.statusCode, headers: response.headers, html: response.payload } as Answer
  }

  return {
    ...opened,
    publicServer,
    endpoints,
    selections,
    send,
    /** Stores files of a user: the first is the newest. @returns their ids */
    async save(ownerId: string, names: readonly string[], kind = 'documents'): Promise<string[]> {
      const saved = names.map((path, index) =>
        importedFile(path, {
          kind,
          size: 48_213n,
          createdAt: new Date(Date.UTC(2026, 9, 31) - index * 86_400_000)
        })
      )
      await files.save(ownerId, saved)
      return saved.map(({ fileId }) => fileId)
    },
    handOver: (members: Partial<FakeHandOver> & { sub: string }) =>
      endpoints.handOver({ client_name: 'Sunny Prints', language: 'en', return_to: RETURN_TO, ...members }),
    /** A browser that opens the page of a hand-over. */
    async open(handOver: string, cookies = '') {
      const redirect = await send('GET', `${resourceUrl}/choose?handover=${handOver}`, { cookie: cookies })
      const address = String(redirect.headers.location)
      const cookie = String(redirect.headers['set-cookie']).split(';', 1)[0] ?? ''
      const headers = { cookie }
      return {
        redirect,
        address,
        cookie,
        get: (query = '') => send('GET', `${address}${query}`, headers),
        /** Sends the form of a page with these fields in the place of its own. */
        async submit(page: Answer, fields: Fields, change: Record<string, string> = {}): Promise<Answer> {
          const form = new URLSearchParams()
          const all = { ...hiddenFields(page.html), ...fields }
          for (const [name, value] of Object.entries(all))
            for (const each of [value].flat()) form.append(name, String(each))
          const type = 'application/x-www-form-urlencoded'
          return send('POST', address, { ...headers, 'content-type': type, ...change }, form.toString())
        }
      }
    },
    async close() {
      await closeApp()
      await endpoints.close()
      await opened.close()
    }
  }
}

/** The hidden fields of a form, and the ticked boxes. */
function hiddenFields(html: string): Record<string, string[]> {
  const fields: Record<string, string[]> = {}
  for (const [input] of html.matchAll(/<input [^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1] ?? ''
    const isSent = input.includes('type="hidden"') || / checked/.test(input)
    if (isSent) fields[name] = [...(fields[name] ?? []), /value="([^"]*)"/.exec(input)?.[1] ?? '']
  }
  return fields
}

/** The names of the files on a page, and those that are ticked. */
export function namesOn(html: string): { all: string[]; ticked: string[] } {
  const rows = [...html.matchAll(/<li class="file">(.*?)<\/li>/gs)].map(([, row = '']) => ({
    name: /class="file-name">([^<]*)/.exec(row)?.[1] ?? '',
    isTicked: row.includes(' checked')
  }))
  return { all: rows.map(({ name }) => name), ticked: rows.filter(({ isTicked }) => isTicked).map(({ name }) => name) }
}
