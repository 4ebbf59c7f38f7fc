/** Problem details (RFC 9457). */
const problem = {
  type: 'object',
  required: ['title', 'status', 'detail'],
  properties: {
    title: { type: 'string', description: 'What the status says.' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is wrong, for people.' },
    error: { type: 'string', description: 'The code of RFC 6750 §3.1, where the key is what is wrong.' }
  }
} as const

function problemAnswer(description: string) {
  return { description, content: { 'application/problem+json': { schema: problem } } } as const
}

/** The answers that any route may give in place of its own. */
export const problemAnswers = {
  400: problemAnswer('Something of the request does not fit; the detail names it.'),
  401: problemAnswer('There is no operator key, or none that is valid.'),
  404: problemAnswer('There is no such record.'),
  409: problemAnswer('It is there already, and differs.'),
  413: problemAnswer('The body is over 16 KiB.'),
  415: problemAnswer('The body is not JSON.'),
  422: problemAnswer('A value breaks a rule; the detail says which.'),
  429: problemAnswer('Too many wrong keys from this address. Retry-After says when it ends.'),
  500: problemAnswer('Something went wrong here.'),
  503: problemAnswer('A store is away. Retry-After says when to try again.')
} as const

/** An answer that is one JSON document. */
export function jsonAnswer<Schema extends object>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } } as const
}

/** An object with these members and no others; those in `optional` may be missing. */
export function object<Properties extends Record<string, object>>(
  properties: Properties,
  optional: readonly (keyof Properties)[] = []
) {
  return {
    type: 'object',
    additionalProperties: false,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
    properties
  } as const
}

export const text = (description: string) => ({ type: 'string', description }) as const
export const recordId = (description: string) => ({ type: 'string', format: 'uuid', description }) as const
export const time = (description: string) => ({ type: 'string', format: 'date-time', description }) as const

/** `after` and `limit` of a list that comes in pages; `next` of an answer is the next `after`. */
export const pageParameters = {
  limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100, description: 'How many at most.' },
  // Postgres has no text with a NUL in it.
  after: { ...text('`next` of the page before.'), pattern: '^[^\\u0000]*$' }
} as const
export const next = text('`after` of the next page; absent on the last one.')
