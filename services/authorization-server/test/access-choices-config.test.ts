import { describe, expect, test } from '@jest/globals'
import { environmentReader } from '@valetkey/service-kit'
import { readAccessChoices } from '../src/access-choices-config.js'

function read(environment: Record<string, string>) {
  const reader = environmentReader(environment)
  const choices = readAccessChoices(reader)
  reader.finish()
  return choices
}

describe('ACCESS_CHOICES', () => {
  test('is off by default', () => {
    expect(read({})).toEqual({ choices: [], preselected: undefined })
  })

  test('has minutes, hours and days, the shortest first, and until_ended last', () => {
    const { choices } = read({ ACCESS_CHOICES: 'until_ended, 30d 1h,5m' })
    expect(choices).toEqual([
      { value: '5m', seconds: 300 },
      { value: '1h', seconds: 3_600 },
      { value: '30d', seconds: 2_592_000 },
      { value: 'until_ended', seconds: undefined }
    ])
  })

  test.each([
    { name: 'seconds', text: '30s', said: '"30s" is not a number of minutes' },
    { name: 'a number without a unit', text: '1h,30', said: '"30" is not a number of minutes' },
    { name: 'nothing', text: '0h', said: '"0h" is not a number of minutes' },
    { name: 'more than ten years', text: '3651d', said: '"3651d" is not a number of minutes' },
    { name: 'another word', text: 'forever', said: '"forever" is not a number of minutes' },
    { name: 'one length twice', text: '24h,1d', said: 'two choices of the same length' },
    { name: 'one value twice', text: 'until_ended,until_ended', said: 'two choices of the same length' },
    { name: 'seven choices', text: '1h,2h,3h,4h,5h,6h,7h', said: 'more than 6 choices' }
  ])('$name is refused', ({ text, said }) => {
    expect(() => read({ ACCESS_CHOICES: text })).toThrow(said)
  })

  test('ACCESS_CHOICE_DEFAULT is one of them', () => {
    expect(read({ ACCESS_CHOICES: '1h,1d', ACCESS_CHOICE_DEFAULT: '1d' }).preselected).toBe('1d')
    expect(() => read({ ACCESS_CHOICES: '1h,1d', ACCESS_CHOICE_DEFAULT: '2d' })).toThrow(
      'must be one of ACCESS_CHOICES'
    )
    expect(() => read({ ACCESS_CHOICE_DEFAULT: '1h' })).toThrow('must be one of ACCESS_CHOICES')
  })
})
