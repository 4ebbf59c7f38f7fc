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

test.each([
  { name: 'no scope', token: token() },
  { name: 'only scopes of other APIs', token: token('reports.read', 'files.write', 'files.read:secrets') },
  { name: 'the name of an inherited property', token: token('constructor', 'toString') },
  { name: 'a token without a user', token: { subject: undefined, scope: new Set(['files.read']) } }
])('a token has no file access: $name', ({ token }) => {
  expect(fileAccess(token)).toBeUndefined()
})
