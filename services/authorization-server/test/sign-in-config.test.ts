import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { ConfigurationError, type Environment, environmentReader } from '@valetkey/service-kit'
import { readSignInConfig } from '../src/sign-in-config.js'

const MAIL_FROM_RULE =
  'MAIL_FROM: must be one address, such as no-reply@example.com or "Example" <no-reply@example.com>'
const KEYS = JSON.stringify({
  keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })]
})
const PROVIDERS = JSON.stringify([
  { id: 'example', label: 'Example', issuer: 'https://id.example.com', client_id: 'valetkey', client_secret: 's' }
])
const HANDOFF = {
  LOGIN_HANDOFF_URL: 'https://app.example/login',
  LOGIN_HANDOFF_ISSUER: 'https://app.example',
  LOGIN_HANDOFF_KEYS: KEYS
}

function read(environment: Environment) {
  const reader = environmentReader(environment)
  const config = readSignInConfig(reader)
  reader.finish()
  return config
}

function problemsOf(environment: Environment): readonly string[] {
  try {
    read(environment)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
}

test('the settings have providers and the login page', () => {
  const config = read({ SIGN_IN_PROVIDERS: PROVIDERS, ...HANDOFF, LOGIN_HANDOFF_LABEL: 'Example account' })
  expect(config.providers).toMatchObject([{ id: 'example' }])
  expect(config.handoff).toMatchObject({ url: 'https://app.example/login', label: 'Example account' })
})

test('SIGN_IN_AT_LEAST_EVERY is a number of days', () => {
  expect(read({ SIGN_IN_AT_LEAST_EVERY: '30' }).atLeastEvery).toBe(2_592_000)
})

test.each<{ given: Environment; proxy: unknown }>([
  { given: { HTTPS_PROXY: 'http://proxy:3128' }, proxy: { url: 'http://proxy:3128', exceptions: '' } },
  {
    given: { https_proxy: 'http://lower', HTTPS_PROXY: 'http://upper', NO_PROXY: '.example' },
    proxy: { url: 'http://lower', exceptions: '.example' }
  },
  { given: { HTTPS_PROXY: '' }, proxy: undefined },
  { given: { HTTP_PROXY: 'http://proxy' }, proxy: undefined }
])('requests to providers go through the proxy of $given', ({ given, proxy }) => {
  expect(read({ SIGN_IN_PROVIDERS: PROVIDERS, ...given }).proxy).toEqual(proxy)
})

test.each(['proxy:3128', 'socks5://word@proxy'])('HTTPS_PROXY=%s is refused, and not shown', (value) => {
  const problems = problemsOf({ SIGN_IN_PROVIDERS: PROVIDERS, HTTPS_PROXY: value })
  expect(problems).toEqual(['HTTPS_PROXY: must be an http or https URL'])
})

describe('SECURITY_MAILS', () => {
  const server = { SMTP_URL: 'smtp://mail.example.com', MAIL_FROM: 'a@example.com' }

  test('is off by default, and on with a mail server', () => {
    expect([read({}).securityMails, read(server).securityMails]).toEqual(['off', 'off'])
    expect(read({ ...server, SECURITY_MAILS: 'on' }).securityMails).toBe('on')
  })

  test.each<[Environment, string]>([
    [{ SECURITY_MAILS: 'on' }, 'SECURITY_MAILS: is on, but there is no mail server: set SMTP_URL and MAIL_FROM'],
    [{ SECURITY_MAILS: 'on', SMTP_URL: server.SMTP_URL }, 'MAIL_FROM: is missing: the sender of mails by SMTP_URL'],
    [{ ...server, SECURITY_MAILS: 'true' }, 'SECURITY_MAILS: must be one of off, on']
  ])('with %j stops the start', (environment, problem) => {
    expect(problemsOf(environment)).toEqual([problem])
  })
})

describe('LOCAL_SIGN_IN=false', () => {
  test('is refused if there is no other way to sign in', () => {
    expect(problemsOf({ LOCAL_SIGN_IN: 'false' })).toEqual([
      expect.stringMatching(/^LOCAL_SIGN_IN: is false, but neither/)
    ])
  })

  test.each([{ SIGN_IN_PROVIDERS: PROVIDERS }, HANDOFF])('is accepted beside another way', (others) => {
    expect(read({ LOCAL_SIGN_IN: 'false', ...others }).local).toBe(false)
  })
})

test.each<[Environment, string]>([
  [{ SIGN_IN_PROVIDERS: '[{}]' }, 'SIGN_IN_PROVIDERS: [0].id is missing'],
  [{ SIGN_IN_PROVIDERS: '[]', LOCAL_SIGN_IN: 'maybe' }, 'LOCAL_SIGN_IN: must be one of true, false'],
  [{ LOGIN_HANDOFF_KEYS: KEYS }, 'LOGIN_HANDOFF_URL: is missing: the address of the login page'],
  [{ LOGIN_HANDOFF_LABEL: 'Example' }, 'LOGIN_HANDOFF_URL: is missing: the address of the login page'],
  [{ LOGIN_HANDOFF_PROVISIONING: 'create' }, 'LOGIN_HANDOFF_URL: is missing: the address of the login page'],
  [{ ...HANDOFF, LOGIN_HANDOFF_ISSUER: '' }, 'LOGIN_HANDOFF_ISSUER: is missing: iss of the assertions'],
  [
    { ...HANDOFF, LOGIN_HANDOFF_ISSUER: 'https://id.example.com', SIGN_IN_PROVIDERS: PROVIDERS },
    'LOGIN_HANDOFF_ISSUER: is the issuer of a provider in SIGN_IN_PROVIDERS'
  ],
  [{ ...HANDOFF, LOGIN_HANDOFF_KEYS: '{}' }, 'LOGIN_HANDOFF_KEYS: is not a JWK set with at least one key'],
  [
    { ...HANDOFF, LOGIN_HANDOFF_URL: 'https://a.example/?b' },
    'LOGIN_HANDOFF_URL: must have neither query nor fragment'
  ],
  [{ PASSWORD_MIN_LENGTH: '7' }, 'PASSWORD_MIN_LENGTH: must be a whole number from 8 to 64'],
  [{ SMTP_URL: 'https://mail.example' }, 'SMTP_URL: must start with smtp:// or smtps://'],
  [
    { SMTP_URL: 'smtp://mail.example?requireTls=true', MAIL_FROM: 'auth@example.com' },
    'SMTP_URL: has the unknown option requireTls'
  ],
  [{ SMTP_URL: 'smtp://mail.example', MAIL_FROM: 'Example' }, MAIL_FROM_RULE],
  [{ MAIL_FROM: 'a@example.com, b@example.com' }, MAIL_FROM_RULE],
  [
    { SIGN_IN_HELP_URL: 'https://help.example/\u2026' },
    'SIGN_IN_HELP_URL: must be written in its normal form, https://help.example/%E2%80%A6'
  ],
  [
    { ...HANDOFF, LOGIN_HANDOFF_URL: 'https://login.example/\u2026' },
    'LOGIN_HANDOFF_URL: must be written in its normal form, https://login.example/%E2%80%A6'
  ],
  [
    { ...HANDOFF, LOGIN_HANDOFF_URL: 'https://a:b@login.example/' },
    'LOGIN_HANDOFF_URL: must have neither user name nor password'
  ],
  [
    { ...HANDOFF, LOGIN_HANDOFF_LABEL: 'a\nb' },
    'LOGIN_HANDOFF_LABEL: must be text of 1 to 100 characters, without control characters'
  ],
  [
    { ...HANDOFF, LOGIN_HANDOFF_ISSUER: ' a' },
    'LOGIN_HANDOFF_ISSUER: the issuer must have 1 to 500 characters, no control characters, and no space at its ends'
  ],
  [{ SIGN_IN_HELP_URL: 'javascript:alert(1)' }, 'SIGN_IN_HELP_URL: must start with https:// or http://']
])('%j is refused', (environment, problem) => {
  expect(problemsOf(environment)).toContain(problem)
})
