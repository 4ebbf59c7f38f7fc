import path from 'node:path'
import mime from 'mime'

/**
 * Names that the library knows otherwise: to it `.ts` and `.mts` are MPEG transport streams, and `.cts` and `.tsx` are
 * nothing. Where source code lies, they are TypeScript, which has no registered type; a recording with that name is the
 * price.
 */
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts', '.tsx'])

/** The MIME type that a file's name tells, without parameters. */
export function mimeTypeOfName(name: string): string {
  // Without a dot inside it is a name and no extension: `.png` is a hidden file, and `html` may be anything.
  const extension = path.posix.extname(name).toLowerCase()
  if (TYPESCRIPT.has(extension)) return 'text/x-typescript'
  return mime.getType(extension.slice(1)) ?? 'application/octet-stream'
}
