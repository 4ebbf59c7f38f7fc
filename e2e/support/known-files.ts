import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

export type KnownFile = { path: string; name: string; mimeType: string; size: number; shownSize: string }

/** Files with known names, types and sizes; `shownSize` is the text of the demo client. */
export const knownFiles: readonly KnownFile[] = [
  known('Invoice 2026-10.pdf', 'application/pdf', 48_213, '48 kB'),
  known('Urlaub/Küste & Möwen.jpg', 'image/jpeg', 2_483_112, '2.5 MB'),
  known('Urlaub/<b>bold.png', 'image/png', 999, '999 bytes'),
  known(`${'Kontoauszug_'.repeat(10)}2026.pdf`, 'application/pdf', 1_000_000, '1.0 MB'),
  known('empty.txt', 'text/plain', 0, '0 bytes')
]

function known(relative: string, mimeType: string, size: number, shownSize: string): KnownFile {
  return { path: relative, name: path.basename(relative), mimeType, size, shownSize }
}

/** Writes the files to a new temporary folder. */
export function makeKnownFiles(): { directory: string; remove(): void } {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-files-'))
  for (const { path: relative, size } of knownFiles) {
    const file = path.join(directory, relative)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, '')
    truncateSync(file, size)
  }
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) }
}
