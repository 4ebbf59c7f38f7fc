import type { FileRecord } from './file-page.js'

const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const exact = new Intl.NumberFormat('en-GB')
const UNITS = ['kB', 'MB', 'GB', 'TB', 'PB']

/** A row of the table of files. */
export function fileRow(file: FileRecord) {
  return {
    name: file.name,
    mimeType: file.mimeType,
    look: lookOf(file.mimeType),
    size: humanSize(file.size),
    exactSize: file.size === 1 ? '1 byte' : `${exact.format(file.size)} bytes`,
    modified: dates.format(file.modifiedAt),
    modifiedIso: file.modifiedAt.toISOString()
  }
}

/** Decimal units (1 kB is 1000 bytes), one digit after the point below ten. */
export function humanSize(bytes: number): string {
  if (bytes < 1_000) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  let value = bytes
  let unit = -1
  // 999.5 and more would be rounded up to 1000 of the same unit.
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1_000
    unit += 1
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}

function lookOf(mimeType: string): 'photo' | 'media' | 'document' {
  if (mimeType.startsWith('image/')) return 'photo'
  return /^(audio|video)\//.test(mimeType) ? 'media' : 'document'
}
