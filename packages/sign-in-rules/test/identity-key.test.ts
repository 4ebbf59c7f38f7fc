import { expect, test } from '@jest/globals'
import { problemOfIdentityKey } from '../src/identity-key.js'

const ISSUER = 'https://login.example'

test.each([
  { name: 'a number', subject: '248289761001' },
  { name: 'letters of several scripts', subject: 'Ünïcode-名前' },
  { name: '255 characters', subject: 's'.repeat(255) }
])('a subject is accepted: $name (OpenID Connect Core 1.0 2)', ({ subject }) => {
  expect(problemOfIdentityKey({ issuer: ISSUER, subject })).toBeUndefined()
})

test.each([
  { name: 'empty', subject: '' },
  { name: '256 characters', subject: 's'.repeat(256) },
  { name: 'NUL', subject: 'a\u0000b' },
  { name: 'line break', subject: 'a\nb' },
  { name: 'lone surrogate', subject: 'a\ud800' },
  { name: 'space at the end', subject: 'a ' }
])('a subject is refused: $name', ({ subject }) => {
  expect(problemOfIdentityKey({ issuer: ISSUER, subject })).toMatch('the subject must')
})

test.each([
  { name: 'empty', issuer: '' },
  { name: '501 characters', issuer: `https://${'a'.repeat(493)}` },
  { name: 'space at the start', issuer: ` ${ISSUER}` }
])('an issuer is refused: $name', ({ issuer }) => {
  expect(problemOfIdentityKey({ issuer, subject: '1' })).toMatch('the issuer must')
})
