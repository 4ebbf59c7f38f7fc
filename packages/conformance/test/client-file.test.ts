import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { readClientFile } from '../src/client-file.js'

const directory = mkdtempSync(path.join(tmpdir(), 'client-file-'))
const redirectUri = 'https://app.example/callback'
const app = { client_id: 'app', redirect_uri: redirectUri }
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function read(content: unknown) {
  const file = path.join(directory, 'client.json')
  writeFileSync(file, typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content))
  return readClientFile(file)
}

test('a client without a secret is public, one with a secret uses Basic', () => {
  const { client, otherClient } = read({ ...app, other_client: { ...app, client_secret: 's' } })
  expect(client).toEqual({ id: 'app', secret: undefined, method: 'none', redirectUri, scope: undefined })
  expect(otherClient).toMatchObject({ secret: 's', method: 'client_secret_basic' })
})

test.each([
  { content: '{ "client_secret": "hidden', says: 'it is not JSON' },
  { content: Buffer.from('{ "client_id": "é" }', 'latin1'), says: 'it is not UTF-8' },
  { content: [], says: 'not a JSON object' },
  { content: { client_id: 'app' }, says: 'redirect_uri is missing' },
  { content: { ...app, redirect_uri: 'callback' }, says: 'redirect_uri is not a URL' },
  { content: { ...app, scope: 1 }, says: 'scope must be a text' },
  { content: { ...app, token_endpoint_auth_method: 'private_key_jwt' }, says: 'must be one of' },
  { content: { ...app, token_endpoint_auth_method: 'client_secret_post' }, says: 'client_secret does not fit' },
  { content: { ...app, other_client: 1 }, says: 'other_client: not a JSON object' }
])('$says, without the secret in the message', ({ content, says }) => {
  expect(() => read(content)).toThrow(says)
  expect(() => read(content)).not.toThrow('hidden')
})
