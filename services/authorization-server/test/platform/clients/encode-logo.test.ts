import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { beforeAll, describe, expect, test } from '@jest/globals'
import sharp, { type Sharp } from 'sharp'
import { encodeLogo, MOST_LOGO_BYTES } from '../../../src/platform/clients/encode-logo.js'

const RED = { r: 255, g: 0, b: 0 }
const blank = (width: number, height: number, background: object = RED) =>
  sharp({ create: { width, height, channels: 3, background }, limitInputPixels: false })

// Before the first logo, because the decoder then refuses other formats in this process.
const files: Record<string, Buffer> = {}
beforeAll(async () => {
  const animation = [await blank(8, 8).png().toBuffer(), await blank(8, 8, { r: 0, g: 0, b: 255 }).png().toBuffer()]
  const made: Record<string, Sharp> = {
    png: blank(64, 64).png(),
    jpeg: blank(64, 64).jpeg(),
    webp: blank(64, 64).webp(),
    gif: blank(8, 8).gif(),
    tiff: blank(8, 8).tiff(),
    avif: blank(8, 8).avif(),
    animated: sharp(animation, { join: { animated: true } }).webp({ lossless: true }),
    cmyk: blank(64, 64).toColourspace('cmyk').jpeg(),
    sixteen: sharp(randomBytes(300 * 300 * 3), { raw: { width: 300, height: 300, channels: 3 } })
      .toColourspace('rgb16')
      .png(),
    grey: blank(64, 64, { r: 128, g: 128, b: 128 }).toColourspace('b-w').png(),
    wide: blank(4_096, 1).png(),
    largest: blank(4_096, 4_096).png(),
    over: blank(4_097, 1).png(),
    turned: blank(128, 64).withMetadata({ orientation: 6 }).jpeg(),
    tagged: blank(64, 64)
      .withExif({ IFD0: { Copyright: 'SECRET'.repeat(8_000) }, IFD3: { GPSLatitude: '52/1 31/1 12/1' } })
      .jpeg()
  }
  for (const [name, image] of Object.entries(made)) files[name] = await image.toBuffer()
})

async function encoded(file: Buffer | undefined) {
  const outcome = await encodeLogo(file ?? Buffer.alloc(0))
  if (outcome.kind !== 'logo') throw new Error(outcome.kind)
  return outcome.logo
}

async function pixelAt(image: Buffer, x: number, y: number) {
  const { data } = await sharp(image).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
  return [...data.subarray((y * 256 + x) * 4, (y * 256 + x) * 4 + 4)]
}

/** The same PNG with other sides in its header. */
function withSides(file: Buffer | undefined, width: number, height: number): Buffer {
  const changed = Buffer.from(file ?? [])
  changed.writeUInt32BE(width, 16)
  changed.writeUInt32BE(height, 20)
  changed.writeUInt32BE(crc32(changed.subarray(12, 29)), 29)
  return changed
}

describe('an image', () => {
  test.each(['png', 'jpeg', 'webp', 'animated', 'cmyk', 'sixteen', 'grey', 'wide', 'largest', 'turned', 'tagged'])(
    '%s becomes a PNG of 256 by 256 pixels without metadata, named by its hash',
    async (name) => {
      const { hash, image } = await encoded(files[name])
      const found = await sharp(image).metadata()
      expect(found).toMatchObject({ format: 'png', width: 256, height: 256, depth: 'uchar', hasProfile: false })
      expect([found.exif, found.icc, found.xmp, found.iptc, found.comments, found.pages]).toEqual(
        Array(6).fill(undefined)
      )
      expect(image.length).toBeLessThan(400_000)
      expect(hash).toBe(createHash('sha256').update(image).digest('hex'))
    }
  )

  test('that is no square gets transparent borders, after its orientation is applied', async () => {
    const { image } = await encoded(files.turned)
    expect(await pixelAt(image, 10, 128)).toEqual([0, 0, 0, 0])
    const [red = 0, , , opacity] = await pixelAt(image, 128, 2)
    expect([red > 250, opacity]).toEqual([true, 255])
  })

  test('with several frames is its first frame', async () => {
    const { image } = await encoded(files.animated)
    expect(await pixelAt(image, 128, 128)).toEqual([255, 0, 0, 255])
  })

  test('in CMYK keeps its colour', async () => {
    const [red = 0, green = 0] = await pixelAt((await encoded(files.cmyk)).image, 128, 128)
    expect([red > 180, green < 90]).toEqual([true, true])
  })

  test('keeps nothing but pixels: no location, no text, no bytes after the image', async () => {
    const script = Buffer.from('<script>alert(1)</script>')
    for (const file of [files.tagged, files.png, files.jpeg]) {
      const outcome = await encodeLogo(Buffer.concat([file ?? script, script]))
      const image = outcome.kind === 'logo' ? outcome.logo.image : Buffer.alloc(0)
      expect([image.includes('<script'), image.includes('SECRET')]).toEqual([false, false])
    }
    expect(files.tagged?.includes('SECRET')).toBe(true)
  })

  test('gives the same logo each time, also in parallel', async () => {
    const hashes = await Promise.all(['png', 'jpeg', 'png'].map(async (name) => (await encoded(files[name])).hash))
    expect(hashes[0]).toBe(hashes[2])
    expect((await encoded(files.png)).hash).toBe(hashes[0])
  })
})

describe('refused', () => {
  test.each([
    { name: 'an empty file', file: () => Buffer.alloc(0), kind: 'unreadable' },
    {
      name: 'SVG',
      file: () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
      kind: 'unreadable'
    },
    {
      name: 'SVG with an external entity',
      file: () =>
        Buffer.from('<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>'),
      kind: 'unreadable'
    },
    { name: 'HTML', file: () => Buffer.from('<!doctype html><script>alert(1)</script>'), kind: 'unreadable' },
    {
      name: 'HTML after the signature of PNG',
      file: () => Buffer.concat([(files.png ?? Buffer.alloc(0)).subarray(0, 8), Buffer.from('<html>')]),
      kind: 'unreadable'
    },
    { name: 'GIF', file: () => files.gif, kind: 'unreadable' },
    { name: 'TIFF', file: () => files.tiff, kind: 'unreadable' },
    { name: 'AVIF', file: () => files.avif, kind: 'unreadable' },
    { name: 'PDF', file: () => Buffer.from('%PDF-1.7\n'), kind: 'unreadable' },
    { name: 'a truncated PNG', file: () => files.sixteen?.subarray(0, 9_000), kind: 'unreadable' },
    { name: 'a truncated JPEG', file: () => files.jpeg?.subarray(0, -40), kind: 'unreadable' },
    { name: 'a truncated WebP', file: () => files.webp?.subarray(0, -10), kind: 'unreadable' },
    { name: 'a side over 4,096 pixels', file: () => files.over, kind: 'too_many_pixels' },
    {
      name: 'a bomb: small file, large sides',
      file: () => withSides(files.png, 60_000, 60_000),
      kind: 'too_many_pixels'
    },
    {
      name: 'a header with sides that its data lacks',
      file: () => withSides(files.png, 4_000, 4_000),
      kind: 'unreadable'
    },
    { name: 'a side of 0', file: () => withSides(files.png, 0, 64), kind: 'unreadable' },
    { name: 'over 1 MiB', file: () => Buffer.alloc(MOST_LOGO_BYTES + 1), kind: 'too_large' }
  ])('$name', async ({ file, kind }) => {
    expect(await encodeLogo(file() ?? Buffer.alloc(0))).toEqual({ kind })
  })

  test('a file while nine others wait, and it is accepted afterwards', async () => {
    const file = files.png ?? Buffer.alloc(0)
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => encodeLogo(file)))
    expect(outcomes.map(({ kind }) => kind)).toEqual([...Array(9).fill('logo'), 'busy'])
    expect(await encodeLogo(file)).toMatchObject({ kind: 'logo' })
  })
})
