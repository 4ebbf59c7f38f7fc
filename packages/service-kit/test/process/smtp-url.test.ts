import { expect, test } from '@jest/globals'
import { problemOfSmtpUrl } from '../../src/process/smtp-url.js'

test.each([
  'smtp://mail.example',
  'smtps://user:pass%23word@mail.example:465',
  'smtp://user:word@mail.example/?requireTLS=true&tls.servername=mail.internal&name=auth.example',
  'smtp://[::1]:25?ignoreTLS=true',
  'smtps://mail.example?tls.rejectUnauthorized=false&tls.minVersion=TLSv1.3&authMethod=PLAIN'
])('%s is accepted', (url) => {
  expect(problemOfSmtpUrl(url)).toBeUndefined()
})

test.each([
  ['https://mail.example', /must start with smtp/],
  ['smtp://', /names no host/],
  ['smtp://user:hush@mail.example:x', /not a URL/],
  ['smtp://user:hush@mail.example/inbox', /has a path/],
  ['smtp://user@mail.example', /both user and password/],
  ['smtp://:hush@mail.example', /both user and password/],
  ['smtp://user:hush@mail.example?requireTls=true', /unknown option requireTls/],
  ['smtp://user:hush@mail.example?secure=true', /begin with smtps/],
  ['smtp://user:hush@mail.example?tls.verify=true', /unknown option tls\.verify/],
  ['smtp://user:hush@mail.example?__proto__=1', /unknown option/],
  ['smtp://user:hush@mail.example?requireTLS=yes', /value of requireTLS/],
  ['smtp://user:hush@mail.example?requireTLS=true&requireTLS=false', /requireTLS twice/],
  ['smtp://user:hush@mail.example?requireTLS=true&ignoreTLS=true', /asks for TLS/],
  ['smtps://user:hush@mail.example?ignoreTLS=true', /asks for TLS/],
  ['smtp://user:12#hush@mail.example', /# as %23/],
  ['smtp://user:12/hush@mail.example', /\/ as %2F/],
  ['smtp://user:12?hush@mail.example', /\? as %3F/],
  ['smtp://user:hush%@mail.example', /% as %25/]
])('%s is refused, without its secrets in the message', (url, problem) => {
  expect(problemOfSmtpUrl(url)).toMatch(problem)
  expect(problemOfSmtpUrl(url)).not.toContain('hush')
})
