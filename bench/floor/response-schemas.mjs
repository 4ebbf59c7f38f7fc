// The schemas of the responses, with which Fastify writes their JSON.
const text = { type: 'string' }
const number = { type: 'integer' }
const object = (properties) => ({ response: { 200: { type: 'object', properties } } })
export const issued = object({ access_token: text, token_type: text, expires_in: number, scope: text })
export const active = object({
  active: { type: 'boolean' },
  scope: text,
  client_id: text,
  sub: text,
  iat: number,
  exp: number
})
