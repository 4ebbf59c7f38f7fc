/** Problem details (RFC 9457), as this server and the guard write them. */
const problem = {
  type: 'object',
  required: ['title', 'status'],
  properties: {
    title: { type: 'string', description: 'The reason phrase of the status.' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'Description of the error, for developers.' },
    error: {
      type: 'string',
      description: 'The code of RFC 6750 §3.1 or RFC 9449 §7.1, if the error concerns the access token.'
    }
  }
} as const

const text = (description: string) => ({ type: 'string', description }) as const

export const REQUEST_ID = { 'X-Request-Id': text('Quote it when you ask the operator about a response.') } as const

/** Of a request with a proof whose nonce is missing or not the newest. */
export const NONCE = {
  'DPoP-Nonce': text('RFC 9449 §9: the nonce for the next proof. Only where proofs need one.')
} as const

const CHALLENGE = text('RFC 6750 §3, RFC 9449 §7.1: the error, the required scope, and the address of the metadata.')

/** Error responses of every route that the guard protects. */
export const problemResponses = {
  400: problemResponse('A parameter is invalid, or the access token was sent in the wrong place.', {
    'WWW-Authenticate': text('Only if the error concerns the access token.')
  }),
  401: problemResponse('The access token is missing or not valid for this API.', {
    'WWW-Authenticate': CHALLENGE,
    ...NONCE
  }),
  403: problemResponse('The access token does not cover this request.', { 'WWW-Authenticate': CHALLENGE, ...NONCE }),
  413: problemResponse('The form in the request is too large.', {}),
  500: problemResponse('Something went wrong here.', {}),
  503: problemResponse(
    'Tokens cannot be checked or files cannot be read at the moment. Keep the token and try again.',
    {
      'Retry-After': { type: 'integer', description: 'Seconds to wait.' }
    }
  )
} as const

function problemResponse<Headers extends object>(description: string, headers: Headers) {
  return {
    description,
    headers: { ...headers, ...REQUEST_ID },
    content: { 'application/problem+json': { schema: problem } }
  } as const
}

/** The responses to HEAD: the same, without content. */
export function withoutContent(responses: Readonly<Record<number, { description: string; headers: object }>>) {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description, headers }]) => [
      status,
      { type: 'null', description, headers }
    ])
  )
}
