/**
 * Every Authorization header of a request. Node's `headers` has only the first one, and a second one must be refused.
 * @param rawHeaders names and values in turn, as in `IncomingMessage.rawHeaders`
 */
export function authorizationHeaders(rawHeaders: readonly string[]): readonly string[] {
  return headerValues(rawHeaders, 'authorization')
}

/** Every value of a header. @param name in lower case */
export function headerValues(rawHeaders: readonly string[], name: string): readonly string[] {
  const values: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '')
  }
  return values
}
