import { expect, test } from '@jest/globals'
import { entityTagOf, matchesEntityTag } from '../../src/http/entity-tag.js'

const tag = entityTagOf('body')

test('an entity tag is a quoted hash of the body (RFC 9110 §8.8.3)', () => {
  expect(tag).toMatch(/^"[A-Za-z0-9_-]{27}"$/)
  expect(entityTagOf('body')).toBe(tag)
  expect(entityTagOf('other')).not.toBe(tag)
})

test.each([
  { name: 'the tag', header: tag, matches: true },
  { name: 'the tag, weakened by a proxy', header: `W/${tag}`, matches: true },
  { name: 'the tag in a list', header: `"x", W/"y" , ${tag}`, matches: true },
  { name: 'any', header: '*', matches: true },
  { name: 'another', header: '"x"', matches: false },
  { name: 'the tag without quotes', header: tag.slice(1, -1), matches: false },
  { name: 'nothing', header: '', matches: false }
])('If-None-Match with $name: $matches (RFC 9110 §13.1.2)', ({ header, matches }) => {
  expect(matchesEntityTag(header, tag)).toBe(matches)
})
