import { expect, test } from '@jest/globals'
import { withOwnerId } from '../../lib/start/owner-id.mjs'

const ID = '0197f0a1-2b3c-7d4e-8f50-617283940a1b'
const findUserId = (name: string) => (name === 'alice' ? ID : undefined)
const noUsers = () => {
  throw new Error('no user is needed')
}

test.each([
  [
    ['import', '--owner', 'alice', './photos'],
    ['import', '--owner', ID, './photos']
  ],
  [
    ['import', '--owner=alice', './photos'],
    ['import', `--owner=${ID}`, './photos']
  ],
  [
    ['import', '--owner=bob', './photos'],
    ['import', '--owner=bob', './photos']
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
  expect(withOwnerId(args, findUserId)).toEqual(expected)
})

test.each([
  [['import', '--owner', ID, './photos']],
  [['import', `--owner=${ID}`, './photos']],
  [['import', './photos', '--owner']],
  [['import', './photos', '--owner=']],
  [['import', './photos', '--', '--owner=alice']],
  [['doctor']]
])('%j stays, and no user is looked up', (args) => {
  expect(withOwnerId(args, noUsers)).toEqual(args)
})
