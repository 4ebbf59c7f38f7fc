import { expect, test } from '@jest/globals'
import { defineTableStatement, TABLE } from '../../../src/storage/postgres/table-statement.js'

const revoke = defineTableStatement(
  'revoke_token',
  `update ${TABLE} t set revoked_at = now() where t.token_hash = :hash and t.grant_id = :grantId`
)

test.each(['access_tokens_2026_11_27_05', 'access_tokens_2026_11_27_06'])(
  'a table statement has the name and the text of its table: %s',
  (table) => {
    expect(revoke(table, { grantId: 'grant', hash: 'hash' })).toEqual({
      name: `revoke_token_in_${table}`,
      text: `update ${table} t set revoked_at = now() where t.token_hash = $1 and t.grant_id = $2`,
      values: ['hash', 'grant']
    })
  }
)

test('the values of a table statement are those of each call', () => {
  const hashes = ['a', 'b'].map((hash) => revoke('access_tokens_1', { hash, grantId: undefined }).values)
  expect(hashes).toEqual([
    ['a', undefined],
    ['b', undefined]
  ])
})

test('a value that is missing in a table statement is an error', () => {
  expect(() => revoke('access_tokens_1', { hash: 'hash' } as never)).toThrow('revoke_token: no value for :grantId')
})

test('a numbered parameter in a table statement is an error when it is defined', () => {
  expect(() => defineTableStatement('find_token', `select 1 from ${TABLE} where token_hash = $1`)).toThrow(
    'find_token: $1 has no name'
  )
})
