import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { kindOfMimeType } from '../../../src/files/file-kind.js'
import { findMimeType } from '../../../src/operator/cli/find-mime-type.js'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'valetkey-types-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const typeOf = (name: string) =>
  findMimeType({ path: Buffer.from(path.join(directory, name)), name: Buffer.from(name) })

test.each([
  ['Invoice 2026-10.pdf', 'application/pdf'],
  ['photo.JPG', 'image/jpeg'],
  ['notes.md', 'text/markdown'],
  ['index.html', 'text/html'],
  ['film.mp4', 'video/mp4'],
  ['app.cts', 'text/x-typescript'],
  ['app.tsx', 'text/x-typescript'],
  ['archive.tar.gz', 'application/gzip'],
  ['README', 'application/octet-stream'],
  ['html', 'application/octet-stream'],
  ['.png', 'application/octet-stream'],
  ['name.', 'application/octet-stream'],
  ['constructor.toString', 'application/octet-stream'],
  ['data.unknown-extension', 'application/octet-stream']
])('the MIME type of the name %s is %s', async (name, mimeType) => {
  expect(await typeOf(name)).toBe(mimeType)
})

/** What programs write, by extension. */
const NAMES = {
  images: `
    arw cr2 cr3 crw dng erf 3fr fff gpr iiq k25 kdc mef mos mrw nef nrw orf ori pef raf rw2 rwl sr2 srf srw x3f
    jpg jpeg jfif mpo jps thm insp heic heif hif avif png gif webp tif tiff bmp jp2 jxl psd psb xcf svg ico cur`,
  media: `
    mp4 m4v mov avi mkv webm wmv flv 3gp 3g2 mpg mpeg vob m2ts m2t tod m2p mxf braw r3d dv insv lrv lrf glv 360 rm rmvb
    mp3 m4a m4b m4r aac amr awb caf wav bwf aiff flac ogg opus wma ape wv dss ds2 3ga qcp gsm m3u m3u8 pls xspf`,
  documents: `
    pdf doc docx docm dotx xls xlsx xlsm xlsb ppt pptx pps ppsx mpp vsd vsdx vsdm one mdb accdb wri wps xps oxps rtf
    odt ods odp odg odf odb ott fodt fods fodp fodg sxw sxc sxi sdw sdc pages numbers wpd lwp 123 hwp hwpx et dps wpt
    abw epub fb2 mobi azw3 gdoc gsheet gslides djvu txt md csv tsv html tex json xml yaml srt dwg dxf`,
  other: `
    vcf vcard vcs ics ifb eml emlx msg mbox pst ost dbx mht ldif p7m p7s asc pem p12 pfx kdbx ppk jks gpx kml kmz tcx fit
    nmea aae xmp uu exe zip 7z rar iso ttf stl 3ds sqlite org dat bin`
} as const

const CASES = Object.entries(NAMES).flatMap(([kind, names]) =>
  names
    .trim()
    .split(/\s+/)
    .map((extension) => ({ extension, kind }))
)

test.each(CASES)(
  'a file with the extension $extension is of the kind $kind (contract 4)',
  async ({ extension, kind }) => {
    expect(kindOfMimeType(await typeOf(`a.${extension}`))).toBe(kind)
    expect(kindOfMimeType(await typeOf(`A.${extension.toUpperCase()}`))).toBe(kind)
  }
)

const packets = (size: number, before: number) =>
  Buffer.concat(
    Array.from({ length: 20 }, () =>
      Buffer.concat([Buffer.alloc(before), Buffer.from([0x47]), Buffer.alloc(size - before - 1, 0xff)])
    )
  )
const TRANSPORT_STREAM = packets(188, 0)
const AVCHD = packets(192, 4)
const PROGRAM_STREAM = Buffer.concat([Buffer.from([0, 0, 1, 0xba, 0x21, 0, 1, 0, 1, 0x80]), Buffer.alloc(4_000, 0xff)])
const COMPOUND = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(4_000)])
const TIFF = Buffer.concat([Buffer.from('49492a00', 'hex'), Buffer.from([8, 0, 0, 0]), Buffer.alloc(4_000)])
const PRIVATE_KEY = '-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY-----\n'
const TEXT = 'Grüße: Generic text\r\n'.repeat(1_000)

/** An archive with one long entry. */
function zip(): Buffer {
  const name = Buffer.from('Index/Document.iwa')
  const data = deflateRawSync(Buffer.from(Array.from({ length: 60_000 }, (_, index) => (index * 7_919) % 251)), {
    level: 0
  })
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50)
  header.writeUInt16LE(20, 4)
  header.writeUInt16LE(8, 8)
  header.writeUInt32LE(data.length, 18)
  header.writeUInt32LE(60_000, 22)
  header.writeUInt16LE(name.length, 26)
  return Buffer.concat([header, name, data])
}

test.each([
  { name: 'film.ts', content: TRANSPORT_STREAM, mimeType: 'video/mp2t' },
  { name: '00001.MTS', content: AVCHD, mimeType: 'video/mp2t' },
  { name: 'app.ts', content: TEXT, mimeType: 'text/x-typescript' },
  { name: 'app.mts', content: 'export {}', mimeType: 'text/x-typescript' },
  { name: 'empty.ts', content: '', mimeType: 'text/x-typescript' },
  { name: 'damaged.mts', content: Buffer.alloc(9_000), mimeType: 'application/octet-stream' },
  { name: 'latin1.ts', content: Buffer.from('// Gr\u00fc\u00dfe', 'latin1'), mimeType: 'application/octet-stream' },
  { name: 'split.ts', content: `${'a'.repeat(16_383)}ü`, mimeType: 'text/x-typescript' },
  { name: 'MOV001.MOD', content: PROGRAM_STREAM, mimeType: 'video/mpeg' },
  { name: 'go.mod', content: 'module example\n', mimeType: 'text/plain' },
  { name: 'talk.key', content: zip(), mimeType: 'application/vnd.apple.keynote' },
  { name: 'server.key', content: PRIVATE_KEY, mimeType: 'application/octet-stream' },
  { name: 'flyer.pub', content: COMPOUND, mimeType: 'application/vnd.ms-publisher' },
  { name: 'id_ed25519.pub', content: 'ssh-ed25519 AAAA', mimeType: 'application/octet-stream' },
  { name: 'letter.dot', content: COMPOUND, mimeType: 'application/msword' },
  { name: 'graph.dot', content: 'digraph {}', mimeType: 'text/vnd.graphviz' },
  { name: 'slides.pot', content: COMPOUND, mimeType: 'application/vnd.ms-powerpoint' },
  { name: 'messages.pot', content: 'msgid ""', mimeType: 'text/x-gettext-translation-template' },
  { name: 'DCS0001.DCR', content: TIFF, mimeType: 'image/x-raw' },
  { name: 'L1000001.RAW', content: TIFF, mimeType: 'image/x-raw' },
  { name: 'disk.raw', content: Buffer.alloc(9_000), mimeType: 'application/octet-stream' },
  { name: 'film.sub', content: Buffer.alloc(9_000), mimeType: 'application/octet-stream' }
])('the content decides: $name is $mimeType', async ({ name, content, mimeType }) => {
  writeFileSync(path.join(directory, name), content)
  expect(await typeOf(name)).toBe(mimeType)
})

test('an ambiguous file that is missing or was replaced by a link is of no known type', async () => {
  symlinkSync('/etc/hosts', path.join(directory, 'link.ts'))
  for (const name of ['missing.ts', 'link.ts']) expect(await typeOf(name)).toBe('application/octet-stream')
})
