import { expect, test } from '@jest/globals'
import { fileAccess } from '../../src/files/file-scopes.js'

const token = (...scope: string[]) => ({ subject: 'alice', scope: new Set(scope) })

test.each([
  { name: 'files.read covers all', token: token('files.read'), kinds: 'all' },
  { name: 'files.read beside another covers all', token: token('files.read:images', 'files.read'), kinds: 'all' },
  { name: 'one kind', token: token('files.read:images'), kinds: ['images'] },
  { name: 'two add up', token: token('files.read:media', 'files.read:documents'), kinds: ['documents', 'media'] },
  {
    name: 'their order makes no difference',
    token: token('files.read:images', 'files.read:documents'),
    kinds: ['documents', 'images']
  },
  { name: 'scopes of others do not count', token: token('reports.read', 'files.read:media'), kinds: ['media'] }
])('file access: $name', ({ token, kinds }) => {
  expect(fileAccess(token)).toEqual({ ownerId: 'alice', kinds })
})

test.each([
  { name: 'no scope', token: token() },
  { name: 'only scopes of others', token: token('reports.read', 'files.write', 'files.read:secrets') },
  { name: 'a name that every object has', token: token('constructor', 'toString') },
  { name: 'no user behind the token', token: { subject: undefined, scope: new Set(['files.read']) } },
  { name: 'no token', token: null }
])('no file access: $name', ({ token }) => {
  expect(fileAccess(token)).toBeUndefined()
})
