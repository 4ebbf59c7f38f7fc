import { type Finding, graveInProduction, ok, warning } from './finding.js'

const PLACEHOLDER = /change.?me|placeholder|your.?(?:secret|key)|password|example/i
const MIN_DISTINCT_CHARACTERS = 10
const MANY = 3
const OLD_DAYS = 365
const DAY_MS = 86_400_000

/**
 * Evaluates signing keys, newest first. The configuration has already checked their length.
 * @param changedAt when their file was written; undefined if they do not come from a file
 */
export function evaluateKeys(
  check: string,
  keys: readonly string[],
  { isProduction, changedAt, now }: { isProduction: boolean; changedAt: Date | undefined; now: Date }
): readonly Finding[] {
  const findings: Finding[] = []
  const guessable = keys.filter((key) => PLACEHOLDER.test(key) || new Set(key).size < MIN_DISTINCT_CHARACTERS)
  if (guessable.length > 0) {
    findings.push(
      graveInProduction(isProduction)(check, {
        what: `${guessable.length} of ${keys.length} can be guessed`,
        why: 'An attacker who guesses a key can forge signatures.',
        fix: 'create keys with: openssl rand -hex 32'
      })
    )
  }
  if (new Set(keys).size < keys.length) findings.push(warning(check, { what: 'contains a key twice', ...ROTATION }))
  if (keys.length > MANY) findings.push(warning(check, { what: `has ${keys.length} keys`, ...ROTATION }))
  const days = changedAt === undefined ? 0 : Math.floor((now.getTime() - changedAt.getTime()) / DAY_MS)
  if (days > OLD_DAYS) {
    findings.push(warning(check, { what: `the file was written ${days} days ago`, ...ROTATION }))
  }
  const age = changedAt === undefined ? ', of unknown age' : ''
  return findings.length > 0 ? findings : [ok(check, `${keys.length} in use${age}`)]
}

const ROTATION = {
  why: 'Every key in the list is accepted, so an old key that leaked can still be used.',
  fix: 'rotate, see docs/rotation.md: put the new key first, and remove the old ones after a day'
}
