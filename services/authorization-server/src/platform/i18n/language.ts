import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import handlebars from 'handlebars'
import { IntlMessageFormat } from 'intl-messageformat'

/** The key and values of a text, independent of the language. */
export type Message = { key: string; values?: MessageValues }

export type MessageValues = Readonly<Record<string, string | number | Date>>

export type Language = {
  /** BCP 47, such as `de`; the name of the message file. */
  tag: string
  direction: 'ltr' | 'rtl'
  /** HTML: `<b>` of the message file becomes `<strong>`; values are escaped and isolated from the text direction. */
  toHtml(message: Message): string
  /** Plain text, not escaped: for titles and attributes. */
  toText(message: Message): string
  /** A duration in its largest whole unit: `1 hour`, `90 days`. */
  duration(seconds: number): string
  /** How long ago, in the largest whole unit, at least a minute: `12 minutes ago`. */
  ago(seconds: number): string
}

/** The default language; its file has all keys. */
export const DEFAULT_LANGUAGE = 'en'

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1]
] as const

// The server does not know the time zone of the user, so days are those of UTC.
const DAY = { year: 'numeric', month: 'long', day: 'numeric', timeZone: 'UTC' } as const
const MINUTE = { ...DAY, month: 'short', hour: '2-digit', minute: '2-digit' } as const
const SHORT_DAY = { ...DAY, month: 'short' } as const
const FORMATS = { date: { day: DAY, short_day: SHORT_DAY, minute: MINUTE } } as const

const MESSAGES = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../messages')

/** All languages of a directory with message files `<tag>.json`. */
export function loadLanguages(directory: string = MESSAGES): ReadonlyMap<string, Language> {
  const tags = readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => path.basename(name, '.json'))
    .toSorted()
  return new Map(tags.map((tag) => [tag, createLanguage(tag, readMessages(directory, tag))]))
}

export function createLanguage(tag: string, messages: Readonly<Record<string, string>>): Language {
  const formats = new Map<string, IntlMessageFormat>()

  function formatOf(key: string): IntlMessageFormat {
    const known = formats.get(key)
    if (known !== undefined) return known
    const text = messages[key]
    if (text === undefined) throw new Error(`the language ${tag} has no text for ${key}`)
    const format = new IntlMessageFormat(text, tag, FORMATS)
    formats.set(key, format)
    return format
  }

  return {
    tag,
    direction: messages.direction === 'rtl' ? 'rtl' : 'ltr',
    toHtml: ({ key, values = {} }) =>
      String(
        formatOf(key).format({
          ...mapText(values, (text) => `<bdi>${handlebars.escapeExpression(text)}</bdi>`),
          b: bold
        })
      ),
    toText: ({ key, values = {} }) => String(formatOf(key).format({ ...values, b: (chunks) => chunks.join('') })),
    duration(seconds) {
      const [unit, length] = UNITS.find(([, length]) => seconds % length === 0) ?? ['second', 1]
      return new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long' }).format(seconds / length)
    },
    ago(seconds) {
      const [unit, length] = UNITS.find(([, length]) => seconds >= length && length >= 60) ?? ['minute', 60]
      const count = Math.max(1, Math.floor(seconds / length))
      return new Intl.RelativeTimeFormat(tag, { numeric: 'always' }).format(-count, unit)
    }
  }
}

function readMessages(directory: string, tag: string): Readonly<Record<string, string>> {
  return JSON.parse(readFileSync(path.join(directory, `${tag}.json`), 'utf8')) as Record<string, string>
}

function mapText(values: MessageValues, change: (text: string) => string): MessageValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? change(value) : value])
  )
}

function bold(chunks: readonly unknown[]): string {
  return `<strong>${chunks.join('')}</strong>`
}
