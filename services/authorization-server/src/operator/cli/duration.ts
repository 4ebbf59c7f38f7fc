import { CommandFailure } from './exit.js'

const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3_600, d: 86_400 }

/** A duration in seconds: `90`, `90s`, `15m`, `12h`, `7d`. */
export function readDuration(given: string, option: string): number {
  const [, count, unit = ''] = /^([0-9]{1,9})([smhd]?)$/.exec(given) ?? []
  const seconds = Number(count) * (SECONDS[unit] ?? Number.NaN)
  if (Number.isNaN(seconds))
    throw new CommandFailure('usage', `${option} must be a duration, such as 3600, 90m, 12h or 7d`)
  return seconds
}

/** A duration, or `default` for the server's value, returned as null. */
export function readLifetime(given: string | undefined, option: string): number | null | undefined {
  if (given === undefined) return undefined
  return given === 'default' ? null : readDuration(given, option)
}
