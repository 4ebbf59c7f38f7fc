import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { authorization, build, closeApp, get, send } from '../support/files-app.js'

let server: Server
let uses: { grant_id: string; action: string; count: number }[]

beforeEach(async () => {
  uses = []
  server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    uses.push(...JSON.parse(body).uses)
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  build({ activity: { url: `http://127.0.0.1:${port}/uses`, clientId: 'files', clientSecret: 'secret' } })
})
afterEach(async () => {
  await closeApp()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const FILES = '/v1/files'

test('the file list counts the files of each page', async () => {
  const first = await get(`${FILES}?page_size=3`)
  await get(`${FILES}?page_size=3&page_token=${first.json().next_page_token}`)
  await closeApp()
  expect(uses).toMatchObject([{ grant_id: 'grant-1', action: 'list_files', count: 5 }])
})

test('a HEAD is a use without files', async () => {
  await send({ method: 'HEAD', url: FILES, headers: { authorization } })
  await closeApp()
  expect(uses).toMatchObject([{ grant_id: 'grant-1', count: 0 }])
})

test('a 304 is a use without files', async () => {
  await get(FILES, { authorization, 'if-none-match': '*' })
  await closeApp()
  expect(uses).toMatchObject([{ grant_id: 'grant-1', count: 0 }])
})

test('refused and wrong requests are no uses', async () => {
  await get(FILES, {})
  await get(`${FILES}?page_size=0`)
  await get(`${FILES}?page_token=wrong`)
  await get('/v1/openapi.json', {})
  await closeApp()
  expect(uses).toEqual([])
})
