// Reads what was thrown. It does not use instanceof: in Jest, errors of Node belong to another realm.

/**
 * The code of a system error, such as ENOENT; empty for other errors.
 * @param {unknown} error
 */
export const codeOf = (error) => (isObject(error) && 'code' in error ? String(error.code) : '')

/** @param {unknown} error */
export const messageOf = (error) => (isObject(error) && 'message' in error ? String(error.message) : String(error))

/**
 * The error behind an error, such as the system error behind a failed fetch; the error itself if there is none.
 * @param {unknown} error
 */
export const causeOf = (error) => (isObject(error) && 'cause' in error ? (error.cause ?? error) : error)

/**
 * @param {unknown} value
 * @returns {value is object}
 */
const isObject = (value) => typeof value === 'object' && value !== null
