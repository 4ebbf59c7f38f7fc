import {
  jsonResponse,
  next,
  object,
  pageParameters,
  problemResponses,
  recordId,
  text,
  time
} from './response-schemas.js'

const email = text('For invitations and reset links.')
export const user = object(
  {
    user_id: recordId('The `sub` of tokens.'),
    username: text('The name to sign in with.'),
    disabled: { type: 'boolean', description: 'A disabled user cannot sign in.' },
    created_at: time('UTC.'),
    display_name: text('As a provider or login page gave it at the last sign-in there.'),
    email,
    last_signed_in_at: time('UTC; absent if the user has never signed in.')
  },
  ['display_name', 'email', 'last_signed_in_at']
)
const password = text('`PASSWORD_MIN_LENGTH` characters to 1024 bytes, not a common one.')

const params = object({ user_id: text('The user id.') })

/** The schema of every operation on one user. */
function onUser(operationId: string, summary: string) {
  return {
    operationId,
    summary,
    params,
    response: { 200: jsonResponse('The user.', user), ...problemResponses }
  } as const
}

export const listUsers = {
  operationId: 'listUsers',
  summary: 'List users by name, in pages',
  querystring: object(pageParameters, ['after', 'limit']),
  response: {
    200: jsonResponse('A page of users.', object({ users: { type: 'array', items: user }, next }, ['next'])),
    ...problemResponses
  }
} as const

export const createUser = {
  operationId: 'createUser',
  summary: 'Create a user; without a password, invite the user afterwards',
  body: object(
    {
      username: text('1 to 100 characters; no other user may have it.'),
      password,
      email
    },
    ['password', 'email']
  ),
  response: { 201: jsonResponse('The user.', user), ...problemResponses }
} as const

export const findUser = onUser('findUser', 'Get a user')
export const disableUser = onUser('disableUser', 'Block sign-in for a user; all sessions and tokens end')
export const enableUser = onUser(
  'enableUser',
  'Let a disabled user sign in again; ended sessions and tokens stay ended'
)
export const setPassword = {
  ...onUser('setPassword', 'Set a new password; all sessions and tokens of the user end'),
  body: object({ password })
} as const
export const deleteUser = {
  ...onUser('deleteUser', 'Delete a user permanently; all sessions and tokens end'),
  response: { 200: jsonResponse('The deleted user.', user), ...problemResponses }
} as const
