/** Control and format characters, lone surrogates and line breaks. */
const INVISIBLE = /[\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu
const BREAKS = /[\p{Cc}\p{Z}]+/gu
/** Between two parts of an address: dots as host names have them (UTS #46), and what separates the other parts. */
const JOINTS = /[.\u3002:/\\@]+(?=[^ ])/gu

/**
 * A text that an app or a user chose, as one line in which mail programs find no link, such as `evil example` for `evil.example`.
 * @param longest in code points
 */
export function withoutLinks(text: string, longest = 100): string {
  const line = text.normalize('NFKC').replace(INVISIBLE, '').replace(BREAKS, ' ').replace(JOINTS, ' ')
  return Array.from(line.replace(/ {2,}/g, ' ').trim()).slice(0, longest).join('')
}
