import {
  jsonResponse,
  object,
  problemResponses,
  recordId,
  text,
  time
} from '../../../operator/http/response-schemas.js'
import { user } from '../../../operator/http/user-schemas.js'

const identityKey = {
  issuer: text('Issuer of the provider or login page, exactly as configured.'),
  subject: text('The `sub` of the user there; case-sensitive, 1 to 255 characters.')
}

const identity = object(
  {
    ...identityKey,
    user_id: recordId('The user who signs in with it.'),
    created_at: time('UTC.'),
    last_used_at: time('UTC; absent if it was never used.')
  },
  ['last_used_at']
)
const params = object({ user_id: text('The user id.') })

export const listIdentities = {
  operationId: 'listIdentities',
  summary: 'List the identities that sign in as a user',
  params,
  response: {
    200: jsonResponse('By issuer and subject.', object({ identities: { type: 'array', items: identity } })),
    ...problemResponses
  }
} as const

export const linkIdentity = {
  operationId: 'linkIdentity',
  summary: 'Let an identity sign in as a user; idempotent',
  params,
  body: object(identityKey),
  response: { 201: jsonResponse('The identity.', identity), ...problemResponses }
} as const

export const unlinkIdentity = {
  operationId: 'unlinkIdentity',
  summary: 'Unlink an identity; all sessions of the user end',
  params,
  querystring: object(identityKey),
  response: { 200: jsonResponse('The identity, as it was.', identity), ...problemResponses }
} as const

export const disableUserOfIdentity = {
  operationId: 'disableUserOfIdentity',
  summary: 'Block sign-in for the user of an identity, for scripts that know users by their provider only',
  body: object(identityKey),
  response: { 200: jsonResponse('The user.', user), ...problemResponses }
} as const
