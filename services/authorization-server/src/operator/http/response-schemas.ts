/** Problem details (RFC 9457). */
const problem = {
  type: 'object',
  required: ['title', 'status', 'detail'],
  properties: {
    title: { type: 'string', description: 'The reason phrase of the status.' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'Description of the error, for developers.' },
    error: { type: 'string', description: 'The code of RFC 6750 §3.1, if the error concerns the operator key.' }
  }
} as const

function problemResponse(description: string) {
  return { description, content: { 'application/problem+json': { schema: problem } } } as const
}

/** Error responses of every route. */
export const problemResponses = {
  400: problemResponse('A member or parameter is invalid; the detail names it.'),
  401: problemResponse('The operator key is missing or not valid.'),
  403: problemResponse('The operator key has another purpose.'),
  404: problemResponse('There is no such record.'),
  409: problemResponse('The request conflicts with the current state; the detail says how.'),
  413: problemResponse('The body is too large.'),
  415: problemResponse('The media type of the body is not one that the route reads.'),
  422: problemResponse('A value breaks a rule; the detail names the rule.'),
  429: problemResponse('Too many wrong keys from this address. Retry after Retry-After seconds.'),
  500: problemResponse('Something went wrong here.'),
  503: problemResponse('A store is unavailable. Retry after Retry-After seconds.')
} as const

/** A response with one JSON document. */
export function jsonResponse<Schema extends object>(description: string, schema: Schema) {
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

/** `after` and `limit` of a list with pages; `next` of a page is the `after` of the next request. */
export const pageParameters = {
  limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100, description: 'Maximum number of entries.' },
  // Postgres accepts no NUL in text.
  after: { ...text('`next` of the previous page.'), pattern: '^[^\\u0000]*$' }
} as const
export const next = text('`after` of the next page; absent on the last page.')
