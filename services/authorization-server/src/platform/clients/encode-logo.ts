import { createHash } from 'node:crypto'
import type { Sharp } from 'sharp'
import type { ClientLogo } from '../../storage/postgres/client-logos.js'

export const MOST_LOGO_BYTES = 1024 * 1024
/** The limit of each side. */
export const MOST_LOGO_PIXELS = 4_096
/** Sides of the logo as it is served. */
const SIZE = 256
const LONGEST_SECONDS = 10
/** Files that may wait for the one that is being decoded: they take 8 MiB. */
const MOST_WAITING = 8

export type LogoOutcome =
  | { kind: 'logo'; logo: ClientLogo }
  | { kind: 'too_large' | 'too_many_pixels' | 'unreadable' | 'busy' }

let last: Promise<unknown> = Promise.resolve()
let waiting = 0

/**
 * Decodes a PNG, JPEG or WebP file and encodes its pixels anew, as a square PNG with transparent borders. Nothing else of the
 * file is kept: no metadata, no further images, no bytes after the image. One file at a time, so that the memory of decoded
 * images is bounded; the work is done outside the event loop.
 */
export async function encodeLogo(file: Buffer): Promise<LogoOutcome> {
  if (file.length > MOST_LOGO_BYTES) return { kind: 'too_large' }
  if (waiting > MOST_WAITING) return { kind: 'busy' }
  waiting += 1
  const encoding = last.then(() => encodeNow(file)).finally(() => (waiting -= 1))
  last = encoding.catch(() => undefined)
  return encoding
}

async function encodeNow(file: Buffer): Promise<LogoOutcome> {
  const open = await loadDecoder()
  try {
    const { width, height } = await open(file).metadata()
    if (width > MOST_LOGO_PIXELS || height > MOST_LOGO_PIXELS) return { kind: 'too_many_pixels' }
    const image = await open(file)
      .autoOrient()
      .resize(SIZE, SIZE, { fit: 'contain', background: '#0000' })
      .png({ compressionLevel: 9 })
      .timeout({ seconds: LONGEST_SECONDS })
      .toBuffer()
    return { kind: 'logo', logo: { hash: createHash('sha256').update(image).digest('hex'), image } }
  } catch (error) {
    // The messages of the library are the only mark of its errors: each is about this file.
    return { kind: /exceeds pixel limit/.test(String(error)) ? 'too_many_pixels' : 'unreadable' }
  }
}

/** Loads the library at the first logo: it takes 20 MB of memory. */
async function loadDecoder(): Promise<(file: Buffer) => Sharp> {
  const { default: sharp } = await import('sharp')
  // This also refuses SVG, whose decoder reads other files.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg', 'VipsForeignLoadWebp'] })
  sharp.concurrency(1)
  sharp.cache(false)
  // An animation becomes its first image. A truncated file is refused.
  return (file) => sharp(file, { limitInputPixels: MOST_LOGO_PIXELS ** 2, failOn: 'warning', animated: false })
}
