import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ConfigurationError } from '@valetkey/service-kit'

/** The operator's product name, logo and colour on the pages. */
export type Branding = {
  productName: string
  logo: { content: Buffer; type: string } | undefined
  /** `#rrggbb` */
  accentColor: string | undefined
}

const LOGO_TYPES: Readonly<Record<string, string>> = { '.svg': 'image/svg+xml', '.png': 'image/png' }
const MAX_LOGO_BYTES = 256 * 1024

/** @throws {ConfigurationError} when the logo cannot be read, has another type or is too large */
export function loadBranding(settings: {
  productName: string
  productLogo: string | undefined
  accentColor: string | undefined
}): Branding {
  const { productName, productLogo, accentColor } = settings
  return { productName, accentColor, logo: productLogo === undefined ? undefined : readLogo(productLogo) }
}

function readLogo(file: string): { content: Buffer; type: string } {
  const type = LOGO_TYPES[path.extname(file).toLowerCase()]
  if (type === undefined) throw new ConfigurationError(['PRODUCT_LOGO: must be the path of an .svg or .png file'])
  const content = read(file)
  if (content.length > MAX_LOGO_BYTES) throw new ConfigurationError(['PRODUCT_LOGO: the file is larger than 256 KiB'])
  return { content, type }
}

function read(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch {
    throw new ConfigurationError([`PRODUCT_LOGO: the file ${file} cannot be read`])
  }
}
