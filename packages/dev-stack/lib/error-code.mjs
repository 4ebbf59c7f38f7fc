/**
 * The code of a system error, such as ENOENT; empty for other errors.
 * @param {unknown} error
 */
export function codeOf(error) {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error))
