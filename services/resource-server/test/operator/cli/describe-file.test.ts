import { createHash } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { describeFile, mimeTypeOfName } from '../../../src/operator/cli/describe-file.js'
import { makeFileId } from '../../../src/operator/cli/file-id.js'

test.each([
  ['Invoice 2026-10.pdf', 'application/pdf'],
  ['photo.JPG', 'image/jpeg'],
  ['notes.md', 'text/markdown'],
  ['index.html', 'text/html'],
  ['film.mp4', 'video/mp4'],
  ['app.ts', 'text/x-typescript'],
  ['app.mts', 'text/x-typescript'],
  ['app.cts', 'text/x-typescript'],
  ['archive.tar.gz', 'application/gzip'],
  ['README', 'application/octet-stream'],
  ['html', 'application/octet-stream'],
  ['.png', 'application/octet-stream'],
  ['name.', 'application/octet-stream'],
  ['data.unknown-extension', 'application/octet-stream']
])('the MIME type of the name %s is %s', (name, mimeType) => {
  expect(mimeTypeOfName(name)).toBe(mimeType)
})

const MARCH = 1_772_366_400_000n
const path = Buffer.from('/home/alice/photo.png')
const describe = (times: { mtimeMs: bigint; birthtimeMs: bigint }) =>
  describeFile({ path, name: Buffer.from('photo.png'), stats: { size: 9n, ...times } }, 'an-id')

test('describeFile returns name, size, type, kind and times', () => {
  expect(describe({ mtimeMs: MARCH + 5n, birthtimeMs: MARCH })).toEqual({
    fileId: 'an-id',
    sourcePath: '/home/alice/photo.png',
    sourceHash: createHash('sha256').update(path).digest(),
    name: 'photo.png',
    mimeType: 'image/png',
    kind: 'images',
    size: 9n,
    createdAt: new Date(Number(MARCH)),
    modifiedAt: new Date(Number(MARCH) + 5)
  })
})

test.each([
  { name: 'no birth time', times: { mtimeMs: MARCH, birthtimeMs: 0n }, created: Number(MARCH) },
  { name: 'a copy that kept its times', times: { mtimeMs: MARCH, birthtimeMs: MARCH + 99n }, created: Number(MARCH) },
  {
    name: 'a time before the year 1',
    times: { mtimeMs: -(10n ** 15n), birthtimeMs: 0n },
    created: Date.parse('0001-01-01')
  },
  { name: 'a time after the year 9999', times: { mtimeMs: 10n ** 18n, birthtimeMs: 0n }, created: 253402300799999 }
])('created_at: $name', ({ times, created }) => {
  expect(describe(times).createdAt.getTime()).toBe(created)
})

test('names that are not UTF-8 are replaced for display, and differ in their path hash', () => {
  const [one, other] = [Buffer.from([0x63, 0xe9]), Buffer.from([0x63, 0xea])].map((name) =>
    describeFile({ path: name, name, stats: { size: 0n, mtimeMs: 0n, birthtimeMs: 0n } }, 'an-id')
  )
  expect(one?.name).toBe('c\ufffd')
  expect(other?.name).toBe('c\ufffd')
  expect(one?.sourceHash).not.toEqual(other?.sourceHash)
})

test('file ids are UUIDs of version 7 that begin with the time (RFC 9562 5.7)', () => {
  const id = makeFileId(new Date(0x0197_f0a1_2b3c), (size) => Buffer.alloc(size, 0xff))
  expect(id).toBe('0197f0a1-2b3c-7fff-bfff-ffffffffffff')
})
