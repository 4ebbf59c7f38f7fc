import { expect, test } from '@jest/globals'
import { fileAccess } from '../../src/files/file-scopes.js'

const token = (...scope: string[]) => ({ subject: 'alice', scope: new Set(scope) })

test.each([
  { name: 'files.read covers all files', token: token('files.read'), kinds: 'all' },
  {
    name: 'files.read with another scope covers all files',
    token: token('files.read:images', 'files.read'),
    kinds: 'all'
  },
  { name: 'one kind', token: token('files.read:images'), kinds: ['images'] },
  {
    name: 'two scopes add up',
    token: token('files.read:media', 'files.read:documents'),
    kinds: ['documents', 'media']
  },
  {
    name: 'kinds in the order of the table',
    token: token('files.read:images', 'files.read:documents'),
    kinds: ['documents', 'images']
  },
  { name: 'a scope of another API is ignored', token: token('reports.read', 'files.read:media'), kinds: ['media'] }
])('file access: $name', ({ token, kinds }) => {
  expect(fileAccess(token)).toEqual({ ownerId: 'alice', kinds })
})

const ID = '0197f0a1-2b3c-7d4e-8f50-617283940a5b'
const chosen = (...identifiers: (string | undefined)[]) => ({
  authorizationDetails: identifiers.map((identifier) => ({ type: 'files', ...(identifier && { identifier }) }))
})

test.each([
  {
    name: 'the selecting scope covers the selection only',
    token: { ...token('files.selected'), ...chosen(ID) },
    access: { kinds: [], selectionId: ID }
  },
  {
    name: 'a kind is added to the selection',
    token: { ...token('files.selected', 'files.read:images'), ...chosen(ID) },
    access: { kinds: ['images'], selectionId: ID }
  },
  {
    name: 'files.read covers all files, whatever is selected',
    token: { ...token('files.selected', 'files.read'), ...chosen(ID) },
    access: { kinds: 'all' }
  },
  {
    name: 'a selection without the scope is ignored',
    token: { ...token('files.read:images'), ...chosen(ID) },
    access: { kinds: ['images'] }
  },
  { name: 'no selection covers nothing', token: token('files.selected'), access: { kinds: [] } },
  {
    name: 'no identifier covers nothing',
    token: { ...token('files.selected'), ...chosen(undefined) },
    access: { kinds: [] }
  },
  {
    name: 'an identifier that this server never makes covers nothing',
    token: { ...token('files.selected'), ...chosen("' or true --") },
    access: { kinds: [] }
  },
  {
    name: 'details of another type cover nothing',
    token: { ...token('files.selected'), authorizationDetails: [{ type: 'albums', identifier: ID }] },
    access: { kinds: [] }
  }
])('file access: $name', ({ token, access }) => {
  expect(fileAccess(token)).toEqual({ ownerId: 'alice', ...access })
})

test.each([
  { name: 'no scope', token: token() },
  { name: 'only scopes of other APIs', token: token('reports.read', 'files.write', 'files.read:secrets') },
  { name: 'the name of an inherited property', token: token('constructor', 'toString') },
  { name: 'a token without a user', token: { subject: undefined, scope: new Set(['files.read']) } }
])('a token has no file access: $name', ({ token }) => {
  expect(fileAccess(token)).toBeUndefined()
})
