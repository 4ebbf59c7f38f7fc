import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import handlebars from 'handlebars'
import { IntlMessageFormat } from 'intl-messageformat'

type Values = Readonly<Record<string, string | number>>

export type Language = {
  /** BCP 47, such as `de`; the name of the message file. */
  tag: string
  direction: 'ltr' | 'rtl'
  /** HTML: `<b>` becomes `<strong>`; values are escaped and isolated from the text direction. */
  toHtml(key: string, values?: Values): string
  toText(key: string, values?: Values): string
  /** A size in its largest unit: `48 kB`. */
  bytes(size: bigint): string
  /** How long ago, in the largest whole unit: `12 minutes ago`. */
  ago(milliseconds: number): string
  /** In UTC, because the server does not know the time zone of the user. */
  time(time: Date): string
}

const DEFAULT = 'en'
const MESSAGES = path.resolve(import.meta.dirname, '../../messages')

/** All languages of the message files. @returns the one for a tag, such as `de-AT`, or English */
export function loadLanguages(): (tag: string) => Language {
  const languages = new Map(
    readdirSync(MESSAGES)
      .filter((name) => name.endsWith('.json'))
      .map((name) => [path.basename(name, '.json'), readFileSync(path.join(MESSAGES, name), 'utf8')] as const)
      .map(([tag, text]) => [tag, createLanguage(tag, JSON.parse(text) as Record<string, string>)])
  )
  const fallback = languages.get(DEFAULT)
  if (fallback === undefined) throw new Error(`there are no messages for ${DEFAULT}`)
  return (tag) =>
    languages.get(tag.toLowerCase()) ?? languages.get(tag.split('-', 1)[0]?.toLowerCase() ?? '') ?? fallback
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const
const DAY_MS = 86_400_000
const AGES = [
  ['year', 365 * DAY_MS],
  ['month', 30 * DAY_MS],
  ['day', DAY_MS],
  ['hour', 3_600_000],
  ['minute', 60_000]
] as const

function createLanguage(tag: string, messages: Readonly<Record<string, string>>): Language {
  const formats = new Map<string, IntlMessageFormat>()
  const ages = new Intl.RelativeTimeFormat(tag, { numeric: 'always' })
  const times = new Intl.DateTimeFormat(tag, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })

  function formatOf(key: string): IntlMessageFormat {
    const text = messages[key]
    if (text === undefined) throw new Error(`the language ${tag} has no text for ${key}`)
    const format = formats.get(key) ?? new IntlMessageFormat(text, tag)
    formats.set(key, format)
    return format
  }

  return {
    tag,
    direction: messages.direction === 'rtl' ? 'rtl' : 'ltr',
    toHtml: (key, values = {}) => String(formatOf(key).format({ ...escaped(values), b: bold })),
    toText: (key, values = {}) => String(formatOf(key).format({ ...values, b: (parts) => parts.join('') })),
    bytes(size) {
      const step = UNITS.findLastIndex((_, at) => at === 0 || Number(size) >= 1000 ** at)
      const rounded = new Intl.NumberFormat(tag, {
        style: 'unit',
        unit: UNITS[step] ?? 'byte',
        unitDisplay: step === 0 ? 'long' : 'short',
        maximumSignificantDigits: 3
      })
      return rounded.format(Number(size) / 1000 ** step)
    },
    ago(milliseconds) {
      const [unit, length] = AGES.find(([, length]) => milliseconds >= length) ?? ['minute', 60_000]
      return ages.format(-Math.max(1, Math.floor(milliseconds / length)), unit)
    },
    time: (time) => times.format(time)
  }
}

const escaped = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'string' ? `<bdi>${handlebars.escapeExpression(value)}</bdi>` : value
    ])
  )

const bold = (parts: readonly unknown[]): string => `<strong>${parts.join('')}</strong>`
