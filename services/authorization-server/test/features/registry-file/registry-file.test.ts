import { expect, test } from '@jest/globals'
import { readRegistryDocument } from '../../../src/features/registry-file/registry-document.js'
import { parseRegistryFile } from '../../../src/features/registry-file/registry-file.js'

const read = (text: string) => readRegistryDocument(parseRegistryFile(text, 'registry.yaml'))

const BILLION_LAUGHS = `x-a0: &a0 [lol]
${Array.from({ length: 9 }, (_, n) => `x-a${n + 1}: &a${n + 1} [${Array(10).fill(`*a${n}`).join(', ')}]`).join('\n')}
`

test.each([
  ['text that is neither YAML nor JSON', 'clients: [', /^registry\.yaml is neither YAML nor JSON: /],
  ['several documents', 'scopes: []\n---\nclients: []\n', /has several YAML documents: put all lists into one/],
  ['a tag without meaning', 'scopes: !secret []\n', /Unresolved tag: !secret/],
  ['an alias of nothing', 'scopes: *none\n', /Unresolved alias/],
  ['a member twice', 'scopes: []\nscopes: []\n', /keys must be unique/],
  ['aliases that expand without end', BILLION_LAUGHS, /Excessive alias count/]
])('%s is refused in one line', (_case, text, message) => {
  expect(() => read(text)).toThrow(message)
  expect(() => read(text)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('\n') }))
})

test('merge keys give values, also to more entries than the parser allows by default', () => {
  const entry = (n: number) => `  - { <<: *web, client_id: web-${n}, name: Web ${n} }`
  const { clients = [] } =
    read(`x-web: &web { type: public, redirect_uris: [https://web.example/cb], scope: files.read }
clients:
${Array.from({ length: 300 }, (_, n) => entry(n)).join('\n')}
  - { <<: [*web, { scope: a, refresh: false }], client_id: last, name: Last, type: confidential }`)
  const web = { type: 'public', redirect_uris: ['https://web.example/cb'], scope: 'files.read' }
  expect(clients).toHaveLength(301)
  expect(clients[299]).toEqual({ ...web, client_id: 'web-299', name: 'Web 299' })
  expect(clients[300]).toEqual({ ...web, type: 'confidential', refresh: false, client_id: 'last', name: 'Last' })
})

test('members x-… of the document and of entries are ignored; a language with such a tag is kept', () => {
  const translations = '{ x-klingon: { title: a } }'
  const scope = `{ name: a, title: A, x-owner: { team: [web] }, translations: ${translations} }`
  expect(read(`x-note: [1]\nscopes: [${scope}]`)).toEqual({
    scopes: [{ name: 'a', title: 'A', translations: { 'x-klingon': { title: 'a' } } }]
  })
  expect(() => read('scopes: [{ name: a, title: A, note: b }]')).toThrow('scopes[0]: has an unknown member: note')
})
