import { expect, test } from '@jest/globals'
import { redactExchange } from '../src/redact.js'

const shown = redactExchange(
  {
    request: {
      method: 'POST',
      url: 'https://as.example/token?client_secret=in-the-query&a=1',
      headers: { authorization: 'Basic YXBwOnNlY3JldA==', cookie: 'first=in-a-cookie; second=in-a-cookie-too' },
      body: 'code=in-the-form&code_verifier=a-verifier&grant_type=authorization_code'
    },
    response: {
      status: 200,
      headers: new Headers({
        'content-type': 'application/json',
        location: 'https://app.example/callback?code=in-the-redirect&state=s',
        'set-cookie': 'session=a-new-cookie; HttpOnly'
      }),
      body: '{"access_token":"in-the-body","scope":"s","error_description":"a remembered value"}'
    }
  },
  ['remembered value']
)

test('a report hides credentials, codes, tokens, verifiers, cookies and remembered values', () => {
  const text = JSON.stringify(shown)
  for (const part of ['in-the-', 'a-verifier', 'a-new-cookie', 'in-a-cookie', 'YXBw', 'remembered value']) {
    expect(text).not.toContain(part)
  }
})

test('a report shows the rest', () => {
  expect(shown.request.url).toBe('https://as.example/token?client_secret=[redacted]&a=1')
  expect(shown.request.body).toContain('grant_type=authorization_code')
  expect(shown.response?.headers.location).toContain('state=s')
  expect(shown.response?.body).toContain('"scope":"s"')
})

test('a page is shown by its length only, and a long body by its beginning', () => {
  const request = { method: 'GET', url: 'https://as.example/', headers: {} } as const
  const bodyOf = (type: string, body: string) =>
    redactExchange({ request, response: { status: 200, headers: new Headers({ 'content-type': type }), body } }, [])
      .response?.body
  expect(bodyOf('text/html; charset=utf-8', '<input name="csrf" value="x">')).toBe('[page of 29 characters]')
  expect(bodyOf('Text/HTML', '<p>')).toBe('[page of 3 characters]')
  expect(bodyOf('application/xhtml+xml', '<p>')).toBe('[page of 3 characters]')
  expect(bodyOf('text/plain', 'y'.repeat(3000))).toHaveLength(2001)
})
