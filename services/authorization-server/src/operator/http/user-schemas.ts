import { jsonAnswer, next, object, pageParameters, problemAnswers, recordId, text, time } from './answer-schemas.js'

const user = object({
  user_id: recordId('Its id: the `sub` of tokens.'),
  username: text('What the person types to sign in.'),
  disabled: { type: 'boolean', description: 'Whether nobody can sign in as this user.' },
  created_at: time('UTC.')
})
const password = text('1 to 1024 bytes, no control characters.')

const params = object({ user_id: text('Its id.') })

/** What every operation on one user has. */
function onUser(operationId: string, summary: string) {
  return {
    operationId,
    summary,
    params,
    response: { 200: jsonAnswer('The user as it is now.', user), ...problemAnswers }
  } as const
}

export const listUsers = {
  operationId: 'listUsers',
  summary: 'Users by name, in pages',
  querystring: object(pageParameters, ['after', 'limit']),
  response: {
    200: jsonAnswer('A page of the list.', object({ users: { type: 'array', items: user }, next }, ['next'])),
    ...problemAnswers
  }
} as const

export const createUser = {
  operationId: 'createUser',
  summary: 'Create a user',
  body: object({ username: text('1 to 100 characters; no other user may have it.'), password }),
  response: { 201: jsonAnswer('The user.', user), ...problemAnswers }
} as const

export const findUser = onUser('findUser', 'One user')
export const disableUser = onUser('disableUser', 'Let nobody sign in as a user; all sessions and tokens end')
export const enableUser = onUser('enableUser', 'Let a user sign in again; what had ended stays ended')
export const setPassword = {
  ...onUser('setPassword', 'Give a user a new password; all sessions and tokens end'),
  body: object({ password })
} as const
export const deleteUser = {
  ...onUser('deleteUser', 'Delete a user for good; all sessions and tokens end'),
  response: { 200: jsonAnswer('The user as it was.', user), ...problemAnswers }
} as const
