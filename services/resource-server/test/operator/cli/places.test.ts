import { expect, test } from '@jest/globals'
import { identify, placeIn, placesBelow } from '../../../src/operator/cli/places.js'

const path = (text: string) => Buffer.from(text)
const roots = [
  { rootId: 'outer', path: path('/srv/files') },
  { rootId: 'inner', path: path('/srv/files/photos') },
  { rootId: 'other', path: path('/srv/filesystem') }
]

test.each([
  { name: 'a root', directory: '/srv/files', rootId: 'outer', prefix: '' },
  { name: 'a directory inside a root', directory: '/srv/files/a/b', rootId: 'outer', prefix: 'a/b/' },
  { name: 'a directory inside two roots', directory: '/srv/files/photos/x', rootId: 'inner', prefix: 'x/' }
])('the place of $name', ({ directory, rootId, prefix }) => {
  expect(placeIn(roots, path(directory))).toMatchObject({ rootId, prefix: path(prefix) })
})

test('a directory outside all roots has no place', () => {
  for (const directory of ['/srv', '/srv/file', '/']) expect(placeIn(roots, path(directory))).toBeUndefined()
})

test.each([
  { name: 'a file of the outer root', file: '/srv/files/a.txt', rootId: 'outer', sourcePath: 'a.txt' },
  { name: 'a file of a root below it', file: '/srv/files/photos/a.txt', rootId: 'inner', sourcePath: 'a.txt' },
  { name: 'a name that begins like a root', file: '/srv/files/photos.txt', rootId: 'outer', sourcePath: 'photos.txt' }
])('identity of $name', ({ file, rootId, sourcePath }) => {
  const directory = path('/srv/files')
  const places = [{ directory, rootId: 'outer', prefix: path('') }, ...placesBelow(roots, directory)]
  expect(identify(path(file), places)).toMatchObject({ rootId, sourcePath: path(sourcePath) })
})

test('the directory / contains all paths', () => {
  const places = [{ directory: path('/'), rootId: 'all', prefix: path('') }]
  expect(identify(path('/a/b'), places).sourcePath).toEqual(path('a/b'))
  expect(placesBelow(roots, path('/'))).toHaveLength(3)
})

test('identities differ by root, and for paths that are not UTF-8', () => {
  const hashes = [
    ['one', Buffer.from([0x2f, 0xe9])],
    ['one', Buffer.from([0x2f, 0xea])],
    ['two', Buffer.from([0x2f, 0xe9])]
  ].map(([rootId, file]) =>
    identify(file as Buffer, [
      { directory: path('/'), rootId: rootId as string, prefix: path('') }
    ]).sourceHash.toString('hex')
  )
  expect(new Set(hashes).size).toBe(3)
})
