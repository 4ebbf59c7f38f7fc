import { randomBytes } from 'node:crypto'
import type { Check } from '../check.js'
import type { Received } from '../http.js'
import { parseObject } from '../metadata.js'
import { failed, type Outcome, PROFILES, verdict } from '../outcome.js'
import type { Session } from '../session.js'
import { basicHeader, expectTokenError, type Fields, formOf, postForm, postToken, sendForm } from '../token-request.js'

const UNKNOWN_CODE = { grant_type: 'authorization_code', code: 'conformance-unknown-code' }
const CLIENT = { level: 'MUST', profiles: PROFILES, needs: ['client'] } as const
const SECRET = { level: 'MUST', profiles: ['oauth2.1', 'bcp', 'valetkey'], needs: ['client', 'secret'] } as const

/** An exchange of a made-up code; a verifier, because some servers ask for it first. */
function unknownCode(session: Session) {
  return { ...UNKNOWN_CODE, redirect_uri: session.client().redirectUri, code_verifier: 'v'.repeat(43) }
}

/** A failed authentication with the header; several checks evaluate the response. */
function askAsStranger(session: Session): Promise<Received> {
  return session.once('unknown client', () => {
    const id = `unknown-${randomBytes(6).toString('hex')}`
    const form = formOf({ ...UNKNOWN_CODE, redirect_uri: 'https://stranger.invalid/callback' })
    return sendForm(session, session.metadata.tokenEndpoint, form, { authorization: basicHeader(id, 'wrong') })
  })
}

async function expectError(session: Session, fields: Fields, errors: readonly string[]): Promise<Outcome> {
  return expectTokenError(session, await postToken(session, fields, session.client()), errors)
}

/** Passed unless the server looked at the code, which means that it accepted the client. */
function expectNotAuthenticated(session: Session, response: Received): Outcome {
  return expectTokenError(session, response, ['invalid_client', 'invalid_request'])
}

/** Refusals of the token endpoint that need no sign-in. */
export const tokenEndpointChecks: readonly Check[] = [
  {
    id: 'token-get-refused',
    title: 'the token endpoint refuses GET',
    section: 'RFC 6749 §3.2',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'Respond with 405 with Allow: POST; never read parameters from the query.',
    async run(session) {
      const url = new URL(session.metadata.tokenEndpoint)
      url.searchParams.append('grant_type', 'authorization_code')
      const { status, body } = await session.send({ method: 'GET', url: url.href, headers: {} })
      // A server that accepts GET responds as for POST: with an OAuth error about the client or the code.
      const error = parseObject(body)?.error
      const isTaken = status !== 405 && (error === 'invalid_client' || error === 'invalid_grant')
      return verdict(status >= 400 && status < 500 && !isTaken, `status is ${status}, error ${JSON.stringify(error)}`)
    }
  },
  {
    id: 'token-invalid-client',
    title: 'an unknown client is invalid_client',
    section: 'RFC 6749 §5.2',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'Authenticate the client before anything else.',
    run: async (session) => expectTokenError(session, await askAsStranger(session), ['invalid_client'])
  },
  {
    id: 'token-basic-challenge',
    title: 'failed Basic authentication is 401 with WWW-Authenticate: Basic',
    section: 'RFC 6749 §5.2',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'Use the scheme that the client used.',
    async run(session) {
      const { status, headers } = await askAsStranger(session)
      const challenge = headers.get('www-authenticate') ?? 'missing'
      return verdict(status === 401 && /^basic\b/i.test(challenge), `status ${status}, WWW-Authenticate ${challenge}`)
    }
  },
  {
    id: 'token-error-json',
    title: 'an error is application/json, with the characters that are allowed',
    section: 'RFC 6749 §5.2',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'error and error_description have no quotes, backslashes, control characters or characters outside ASCII.',
    run: async (session) => evaluateErrorBody(await askAsStranger(session))
  },
  {
    id: 'token-error-no-store',
    title: 'an error has Cache-Control: no-store',
    section: 'Valetkey contract §2',
    level: 'SHOULD',
    profiles: ['valetkey'],
    hint: 'Set it on every response of the token endpoint.',
    run: async (session) => evaluateNoStore(await askAsStranger(session))
  },
  {
    id: 'token-wrong-secret',
    title: 'a wrong secret is invalid_client',
    section: 'RFC 6749 §3.2.1',
    ...SECRET,
    profiles: PROFILES,
    hint: 'Require authentication of confidential clients.',
    run: async (session) =>
      expectTokenError(
        session,
        await postToken(session, unknownCode(session), { ...session.client(), secret: 'wrong' }),
        ['invalid_client']
      )
  },
  {
    id: 'token-missing-secret',
    title: 'a confidential client without its secret is refused',
    section: 'RFC 6749 §3.2.1',
    ...SECRET,
    profiles: PROFILES,
    hint: 'A client_id alone is enough for public clients only.',
    run: async (session) =>
      expectNotAuthenticated(
        session,
        await postToken(session, unknownCode(session), { ...session.client(), secret: undefined, method: 'none' })
      )
  },
  {
    id: 'token-secret-in-query',
    title: 'client credentials in the query are not accepted',
    section: 'RFC 6749 §2.3.1',
    ...SECRET,
    hint: 'Read parameters from the body only.',
    async run(session) {
      const { id, secret = '' } = session.client()
      const url = new URL(session.metadata.tokenEndpoint)
      url.searchParams.append('client_id', id)
      url.searchParams.append('client_secret', secret)
      return expectNotAuthenticated(session, await postForm(session, url.href, unknownCode(session)))
    }
  },
  {
    id: 'token-two-authentications',
    title: 'two methods of client authentication in one request are refused',
    section: 'RFC 6749 §2.3',
    ...SECRET,
    hint: 'Respond with invalid_request.',
    async run(session) {
      const { id, secret = '' } = session.client()
      const form = formOf({ ...unknownCode(session), client_id: id, client_secret: secret })
      const headers = { authorization: basicHeader(id, secret) }
      return expectNotAuthenticated(session, await sendForm(session, session.metadata.tokenEndpoint, form, headers))
    }
  },
  {
    id: 'token-missing-grant-type',
    title: 'a request without grant_type is invalid_request',
    section: 'RFC 6749 §5.2',
    ...CLIENT,
    hint: 'A missing required parameter is invalid_request.',
    run: (session) => expectError(session, { ...unknownCode(session), grant_type: undefined }, ['invalid_request'])
  },
  {
    id: 'token-unknown-grant-type',
    title: 'an unknown grant type is unsupported_grant_type',
    section: 'RFC 6749 §5.2',
    ...CLIENT,
    hint: 'Respond with 400 with unsupported_grant_type.',
    run: (session) => expectError(session, { grant_type: 'conformance' }, ['unsupported_grant_type'])
  },
  {
    id: 'token-password-grant',
    title: 'the grant type password is refused',
    section: 'RFC 9700 §2.4',
    ...CLIENT,
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    hint: 'Remove the grant type; apps must not see passwords.',
    run: (session) =>
      expectError(session, { grant_type: 'password', username: 'conformance', password: 'conformance' }, [
        'unsupported_grant_type',
        'unauthorized_client'
      ])
  },
  {
    id: 'token-repeated-parameter',
    title: 'a repeated parameter is invalid_request',
    section: 'RFC 6749 §3.2',
    ...CLIENT,
    hint: 'Do not take the first or the last value.',
    run: (session) =>
      expectError(session, [...Object.entries(unknownCode(session)), ['code', 'another']], ['invalid_request'])
  },
  {
    id: 'token-unknown-code',
    title: 'an unknown code is invalid_grant',
    section: 'RFC 6749 §5.2',
    ...CLIENT,
    hint: 'Respond with 400 with invalid_grant.',
    run: (session) => expectError(session, unknownCode(session), ['invalid_grant'])
  },
  {
    id: 'token-unknown-refresh-token',
    title: 'an unknown refresh token is invalid_grant',
    section: 'RFC 6749 §5.2',
    ...CLIENT,
    hint: 'Respond with 400 with invalid_grant; clients then ask the user again.',
    run: (session) =>
      expectError(session, { grant_type: 'refresh_token', refresh_token: 'conformance-unknown-token' }, [
        // A server may refuse the grant type to this client first.
        'invalid_grant',
        'unauthorized_client',
        'unsupported_grant_type'
      ])
  }
]

function evaluateErrorBody({ headers, body }: Received): Outcome {
  const type = headers.get('content-type') ?? 'missing'
  if (!/^application\/json\s*(;|$)/i.test(type)) return failed(`Content-Type is ${type}`)
  const { error, error_description: description = '' } = parseObject(body) ?? {}
  const isAllowed = (text: unknown) => typeof text === 'string' && /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text)
  if (!isAllowed(error) || error === '') return failed(`error is ${JSON.stringify(error)}`)
  return verdict(isAllowed(description), `error_description is ${JSON.stringify(description)}`)
}

/** Also evaluates successful responses, where it is a MUST (RFC 6749 §5.1). */
export function evaluateNoStore({ headers }: Received): Outcome {
  const value = headers.get('cache-control') ?? 'missing'
  return verdict(/(^|[\s,])no-store([\s,]|$)/i.test(value), `Cache-Control is ${value}`)
}
