import { expect, test } from '@jest/globals'
import { withOwnerId } from '../../lib/start/owner-id.mjs'

const ID = '0197f0a1-2b3c-7d4e-8f50-617283940a1b'
const users = () => [{ user_id: ID, username: 'alice' }]
const noUsers = () => {
  throw new Error('the users are not needed')
}

test.each([
  [
    ['import', '--owner', 'alice', './photos'],
    ['import', '--owner', ID, './photos']
  ],
  [
    ['delete', '--owner', 'Alice'],
    ['delete', '--owner', ID]
  ],
  [
    ['import', '--owner', 'bob', './photos'],
    ['import', '--owner', 'bob', './photos']
  ]
])('%j becomes %j', (args, expected) => {
  expect(withOwnerId(args, users)).toEqual(expected)
})

test.each([[['import', '--owner', ID, './photos']], [['import', './photos', '--owner']], [['doctor']]])(
  '%j stays, and the users are not listed',
  (args) => {
    expect(withOwnerId(args, noUsers)).toEqual(args)
  }
)
