import type { ServerResponse } from 'node:http'

type Fields = readonly unknown[] | Readonly<Record<string, unknown>>

/**
 * Gives a response these headers, whatever its handler sets, also at a 304. It changes `writeHead`, because frameworks and handlers set
 * their headers later, and some of them only there.
 * @param headers names in lower case
 */
export function overrideHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  const writeHead = response.writeHead.bind(response) as (status: number, ...rest: unknown[]) => ServerResponse
  const isOverridden = (name: unknown) => Object.hasOwn(headers, String(name).toLowerCase())
  const setAll = () => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  }
  setAll()
  response.writeHead = ((status: number, ...rest: (string | Fields | undefined)[]) => {
    setAll()
    return writeHead(status, ...rest.map((one) => (typeof one === 'object' ? without(one, isOverridden) : one)))
  }) as ServerResponse['writeHead']
}

/** @param fields an object, a list of pairs, or a list of names and values in turn, as `writeHead` takes them */
function without(fields: Fields, isOverridden: (name: unknown) => boolean): Fields {
  if (!Array.isArray(fields)) return Object.fromEntries(Object.entries(fields).filter(([name]) => !isOverridden(name)))
  // Beside headers that were set before, `writeHead` takes no pairs.
  const inTurn = Array.isArray(fields[0]) ? fields.flat() : fields
  return inTurn.filter((_, index) => !isOverridden(inTurn[index - (index % 2)]))
}
