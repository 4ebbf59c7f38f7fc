import { expect, test } from '@jest/globals'
import { describeFile } from '../../../src/operator/cli/describe-file.js'
import { makeFileId } from '../../../src/operator/cli/file-id.js'

const identity = { rootId: 'a-root', sourcePath: Buffer.from('a/photo.png'), sourceHash: Buffer.from('hash') }
const MARCH = 1_772_366_400_000n
const describe = (times: { mtimeMs: bigint; birthtimeMs: bigint }, name = Buffer.from('photo.png')) =>
  describeFile(
    { name, stats: { size: 9n, ...times } },
    { fileId: 'an-id', identity, unrootedHash: undefined, mimeType: 'image/png' }
  )

test('describeFile returns identity, name, size, type, kind and times', () => {
  expect(describe({ mtimeMs: MARCH + 5n, birthtimeMs: MARCH })).toEqual({
    fileId: 'an-id',
    rootId: 'a-root',
    sourcePath: 'a/photo.png',
    sourceHash: Buffer.from('hash'),
    unrootedHash: undefined,
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

test('a name that is not UTF-8 is replaced for display', () => {
  expect(describe({ mtimeMs: 0n, birthtimeMs: 0n }, Buffer.from([0x63, 0xe9])).name).toBe('c\ufffd')
})

test('file ids are UUIDs of version 7 that begin with the time (RFC 9562 5.7)', () => {
  const id = makeFileId(new Date(0x0197_f0a1_2b3c), (size) => Buffer.alloc(size, 0xff))
  expect(id).toBe('0197f0a1-2b3c-7fff-bfff-ffffffffffff')
})
