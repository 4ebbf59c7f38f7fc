import path from 'node:path'
import mime from 'mime'

/**
 * The library maps `.ts` and `.mts` to MPEG transport streams, and does not know `.cts` and `.tsx`. Here they are TypeScript,
 * which has no registered type. The trade-off: a recording with one of these names is listed as text.
 */
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts', '.tsx'])

/** The MIME type for a file name, without parameters. */
export function mimeTypeOfName(name: string): string {
  // `.png` is a hidden file without an extension, and so is `html`.
  const extension = path.posix.extname(name).toLowerCase()
  if (TYPESCRIPT.has(extension)) return 'text/x-typescript'
  return mime.getType(extension.slice(1)) ?? 'application/octet-stream'
}
