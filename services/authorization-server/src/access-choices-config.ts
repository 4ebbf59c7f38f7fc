import type { environmentReader } from '@valetkey/service-kit'
import type { AccessChoice, AccessChoices } from './platform/access-ends.js'

type Reader = ReturnType<typeof environmentReader>

const UNTIL_ENDED = 'until_ended'
const UNITS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400 }
const ITEM = /^([1-9]\d{0,5})([mhd])$/
const LONGEST = 3650 * 86_400
/** More would hide the rest of the consent page of a phone. */
const MOST = 6

/** The settings of the ends that users can choose. */
export function readAccessChoices(read: Reader): AccessChoices {
  const name = 'ACCESS_CHOICES'
  const items = read.list('ACCESS_CHOICES')
  const choices = items.map(readChoice)
  const wrong = items[choices.indexOf(undefined)]
  read.require(
    wrong === undefined,
    name,
    `${JSON.stringify(wrong)} is not a number of minutes, hours or days up to 3650d, such as 30m, 1h or 30d, and not ${UNTIL_ENDED}`
  )
  const known = choices.filter((choice) => choice !== undefined)
  const lengths = new Set(known.map(({ seconds }) => seconds))
  read.require(lengths.size === known.length, name, 'has two choices of the same length')
  read.require(items.length <= MOST, name, `has more than ${MOST} choices`)
  const preselected = read.optionalText('ACCESS_CHOICE_DEFAULT', '') || undefined
  read.require(
    preselected === undefined || items.includes(preselected),
    'ACCESS_CHOICE_DEFAULT',
    'must be one of ACCESS_CHOICES'
  )
  const length = ({ seconds = Number.POSITIVE_INFINITY }: AccessChoice) => seconds
  return { choices: known.toSorted((one, other) => length(one) - length(other)), preselected }
}

function readChoice(item: string): AccessChoice | undefined {
  if (item === UNTIL_ENDED) return { value: item, seconds: undefined }
  const [, count, unit = ''] = ITEM.exec(item) ?? []
  const seconds = Number(count) * (UNITS[unit] ?? Number.NaN)
  return seconds <= LONGEST ? { value: item, seconds } : undefined
}
