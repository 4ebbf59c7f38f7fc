import { type Finding, ok, warning } from '@valetkey/service-kit'
import type { Config } from '../../config.js'

const CHECK = 'ACCESS_CHOICES'

/** Whether clients can get each of the choices. */
export function evaluateAccessChoices({
  accessChoices: { choices },
  refreshTokenMaxTtl
}: Pick<Config, 'accessChoices' | 'refreshTokenMaxTtl'>): Finding {
  if (choices.length === 0) return ok(CHECK, 'is off: users are not asked when the access of an app ends')
  const tooLong = choices.filter(({ seconds = 0 }) => seconds > refreshTokenMaxTtl).map(({ value }) => value)
  if (tooLong.length === 0) return ok(CHECK, `is ${choices.map(({ value }) => value).join(', ')}`)
  return warning(CHECK, {
    what: `has choices that are longer than REFRESH_TOKEN_MAX_TTL: ${tooLong.join(', ')}`,
    why: 'No page shows them.',
    fix: 'raise REFRESH_TOKEN_MAX_TTL, or leave them out'
  })
}
