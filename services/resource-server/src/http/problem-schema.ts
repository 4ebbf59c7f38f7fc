/** Problem details (RFC 9457), as this server and the guard before it write them. */
const problem = {
  type: 'object',
  required: ['title', 'status'],
  properties: {
    title: { type: 'string', description: 'What the status says.' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is wrong, for people.' },
    error: { type: 'string', description: 'The code of RFC 6750 §3.1, where the access token is what is wrong.' }
  }
} as const

const text = (description: string) => ({ type: 'string', description }) as const

export const REQUEST_ID = { 'X-Request-Id': text('Name it when you ask the operator about an answer.') } as const

const CHALLENGE = text('RFC 6750 §3: what is wrong with the access token, and which scope and server help.')

/** The answers that any route behind the guard may give in place of its own. */
export const problemResponses = {
  400: problemResponse('A parameter does not fit, or the access token came in the wrong place.', {
    'WWW-Authenticate': text('Only if it is about the access token.')
  }),
  401: problemResponse('There is no access token, or none that is valid here.', { 'WWW-Authenticate': CHALLENGE }),
  403: problemResponse('The access token does not cover this request.', { 'WWW-Authenticate': CHALLENGE }),
  413: problemResponse('The request came with a form that is too large to be read.', {}),
  500: problemResponse('Something went wrong here.', {}),
  503: problemResponse('Tokens or files cannot be checked or read at the moment. Keep the token and try again.', {
    'Retry-After': { type: 'integer', description: 'Seconds to wait.' }
  })
} as const

function problemResponse<Headers extends object>(description: string, headers: Headers) {
  return {
    description,
    headers: { ...headers, ...REQUEST_ID },
    content: { 'application/problem+json': { schema: problem } }
  } as const
}

/** What HEAD answers: the same, without a body. */
export function withoutContent(responses: Readonly<Record<number, { description: string; headers: object }>>) {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description, headers }]) => [
      status,
      { type: 'null', description, headers }
    ])
  )
}
