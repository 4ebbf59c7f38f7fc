import { AdministrationError } from './administration-error.js'

/**
 * Reads a line of an import.
 * @throws {AdministrationError} `invalid`
 */
export function parseObject(line: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(line)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return parsed as Record<string, unknown>
  } catch {
    // The message of the parser repeats a part of the line, which has a hash.
  }
  throw new AdministrationError('invalid', 'is not a JSON object')
}
