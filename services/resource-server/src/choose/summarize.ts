import type { Language } from './language.js'

/** In the user's language: "12 photos", or "5 files" of several kinds. */
export function summarize(counts: Readonly<Record<string, number>>, language: Language): string {
  const kinds = Object.entries(counts)
  const [[kind] = ['other']] = kinds
  const count = kinds.reduce((sum, [, files]) => sum + files, 0)
  return language.toText(`summary.${kinds.length === 1 ? kind : 'other'}`, { count })
}
