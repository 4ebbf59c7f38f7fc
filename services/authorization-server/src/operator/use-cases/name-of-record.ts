import { readName } from '../../platform/clients/client-name.js'
import { AdministrationError } from './administration-error.js'

/** Trims a display name and requires 1 to 100 characters, at least one of them visible. */
export function requireName(given: string, what = 'a name'): string {
  const outcome = readName(given)
  switch (outcome.kind) {
    case 'name':
      return outcome.name
    case 'malformed': {
      const rule = 'must have 1 to 100 characters, at least one of them visible, and no control characters'
      throw new AdministrationError('invalid', `${what} ${rule}`)
    }
    case 'text_direction':
      throw new AdministrationError('invalid', `${what} must not contain characters that change the text direction`)
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether this is a UUID. A query for anything else would be an error of Postgres. */
export function isRecordId(given: string): boolean {
  return UUID.test(given)
}
