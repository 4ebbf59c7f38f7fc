import { expect, test } from '@jest/globals'
import { type ClientCredentials, readClientCredentials } from '../src/client-authentication.js'
import { parseParameters } from '../src/parameters.js'

const basic = (userPass: string) => `Basic ${Buffer.from(userPass).toString('base64')}`
const read = (authorization: readonly string[], form: string) =>
  readClientCredentials(authorization, parseParameters(form))

const bySecret = (method: 'client_secret_basic' | 'client_secret_post'): ClientCredentials => ({
  kind: 'secret',
  method,
  clientId: 'app',
  clientSecrets: ['secret']
})
const BY_HEADER = bySecret('client_secret_basic')
const BY_BODY = bySecret('client_secret_post')
const NO_CREDENTIALS: ClientCredentials = { kind: 'unusable', usedHeader: false, reason: 'no_credentials' }
const OTHER_SCHEME: ClientCredentials = { kind: 'unusable', usedHeader: true, reason: 'other_scheme' }
const BAD_BASIC: ClientCredentials = { kind: 'unusable', usedHeader: true, reason: 'bad_basic' }

test.each<{ name: string; headers: string[]; form: string; credentials: ClientCredentials }>([
  { name: 'nothing', headers: [], form: '', credentials: NO_CREDENTIALS },
  { name: 'another parameter only', headers: [], form: 'code=x', credentials: NO_CREDENTIALS },
  { name: 'a secret without an id', headers: [], form: 'client_secret=secret', credentials: NO_CREDENTIALS },
  { name: 'a secret and an empty id', headers: [], form: 'client_id=&client_secret=s', credentials: NO_CREDENTIALS },
  { name: 'id and secret in the body', headers: [], form: 'client_id=app&client_secret=secret', credentials: BY_BODY },
  {
    name: 'id and secret in the body, form-encoded',
    headers: [],
    form: 'client_id=%61pp&client_secret=s%65cret',
    credentials: BY_BODY
  },
  {
    name: 'an id in the body',
    headers: [],
    form: 'client_id=app',
    credentials: { kind: 'identifier', clientId: 'app', usedHeader: false }
  },
  {
    name: 'an id and an empty secret in the body',
    headers: [],
    form: 'client_id=app&client_secret=',
    credentials: { kind: 'identifier', clientId: 'app', usedHeader: false }
  },
  { name: 'Basic', headers: [basic('app:secret')], form: '', credentials: BY_HEADER },
  { name: 'Basic and the same id', headers: [basic('app:secret')], form: 'client_id=app', credentials: BY_HEADER },
  { name: 'Basic and an empty id', headers: [basic('app:secret')], form: 'client_id=', credentials: BY_HEADER },
  {
    name: 'Basic with a raw plus sign in the secret',
    headers: [basic('app:a+b')],
    form: '',
    credentials: { kind: 'secret', method: 'client_secret_basic', clientId: 'app', clientSecrets: ['a+b', 'a b'] }
  },
  {
    name: 'a plus sign in a secret in the body',
    headers: [],
    form: 'client_id=app&client_secret=a%2Bb',
    credentials: { kind: 'secret', method: 'client_secret_post', clientId: 'app', clientSecrets: ['a+b'] }
  },
  {
    name: 'Basic and an empty secret in the body',
    headers: [basic('app:secret')],
    form: 'client_id=app&client_secret=',
    credentials: BY_HEADER
  },
  {
    name: 'Basic with an empty secret',
    headers: [basic('app:')],
    form: '',
    credentials: { kind: 'identifier', clientId: 'app', usedHeader: true }
  },
  {
    name: 'Basic with an empty secret and the same id',
    headers: [basic('app:')],
    form: 'client_id=app',
    credentials: { kind: 'identifier', clientId: 'app', usedHeader: true }
  },
  { name: 'Basic without a colon', headers: [basic('app')], form: '', credentials: BAD_BASIC },
  { name: 'Basic without an id', headers: [basic(':secret')], form: '', credentials: BAD_BASIC },
  { name: 'Basic without credentials', headers: ['Basic'], form: '', credentials: BAD_BASIC },
  { name: 'Basic and a space', headers: ['Basic '], form: '', credentials: BAD_BASIC },
  { name: 'Basic without base64', headers: ['Basic app:secret'], form: '', credentials: BAD_BASIC },
  {
    name: 'malformed Basic and credentials in the body',
    headers: ['Basic !'],
    form: 'client_id=app&client_secret=secret',
    credentials: BAD_BASIC
  },
  { name: 'Bearer', headers: ['Bearer abc'], form: '', credentials: OTHER_SCHEME },
  { name: 'Digest', headers: ['Digest username="app"'], form: '', credentials: OTHER_SCHEME },
  { name: 'a scheme that starts with Basic', headers: ['Basics YTpi'], form: '', credentials: OTHER_SCHEME },
  { name: 'credentials without a scheme', headers: ['YTpi'], form: '', credentials: OTHER_SCHEME },
  { name: 'an empty header', headers: [''], form: '', credentials: OTHER_SCHEME },
  {
    name: 'Bearer and credentials in the body',
    headers: ['Bearer abc'],
    form: 'client_id=app&client_secret=secret',
    credentials: OTHER_SCHEME
  }
])('client authentication: $name is read as $credentials (RFC 6749 §2.3.1)', ({ headers, form, credentials }) => {
  expect(read(headers, form)).toEqual(credentials)
})

const HEADER = basic('app:secret')

test.each([
  { name: 'two Basic headers', headers: [HEADER, HEADER], form: '', description: /More than one/ },
  { name: 'Basic and Bearer', headers: [HEADER, 'Bearer abc'], form: '', description: /More than one/ },
  { name: 'Bearer and Basic', headers: ['Bearer abc', HEADER], form: '', description: /More than one/ },
  {
    name: 'Basic and a secret in the body',
    headers: [HEADER],
    form: 'client_secret=secret',
    description: /Two methods/
  },
  {
    name: 'the same credentials in both places',
    headers: [HEADER],
    form: 'client_id=app&client_secret=secret',
    description: /Two methods/
  },
  {
    name: 'an empty secret in the header and one in the body',
    headers: [basic('app:')],
    form: 'client_id=app&client_secret=secret',
    description: /Two methods/
  },
  { name: 'Basic and another id', headers: [HEADER], form: 'client_id=other', description: /differs/ },
  { name: 'Basic and the id in another case', headers: [HEADER], form: 'client_id=App', description: /differs/ },
  {
    name: 'Basic with an empty secret and another id',
    headers: [basic('app:')],
    form: 'client_id=other',
    description: /differs/
  },
  { name: 'two ids', headers: [], form: 'client_id=app&client_id=other&client_secret=s', description: /client_id/ },
  { name: 'the same id twice', headers: [], form: 'client_id=app&client_id=app', description: /client_id/ },
  { name: 'two secrets', headers: [], form: 'client_id=a&client_secret=b&client_secret=c', description: /_secret/ },
  { name: 'two ids with Basic', headers: [HEADER], form: 'client_id=app&client_id=app', description: /client_id/ },
  {
    name: 'two secrets with Basic',
    headers: [HEADER],
    form: 'client_secret=a&client_secret=b',
    description: /_secret/
  },
  { name: 'a NUL in the id', headers: [], form: 'client_id=a%00&client_secret=b', description: /client_id/ },
  { name: 'an id that is not UTF-8', headers: [], form: 'client_id=%ff&client_secret=b', description: /client_id/ },
  { name: 'a secret that is not UTF-8', headers: [], form: 'client_id=a&client_secret=%ff', description: /_secret/ }
])('client authentication: $name is malformed (RFC 6749 §2.3)', ({ headers, form, description }) => {
  expect(read(headers, form)).toEqual({ kind: 'malformed', description: expect.stringMatching(description) })
})
