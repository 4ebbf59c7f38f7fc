import { openAuthorization, responseParameters } from '../authorization.js'
import type { Check } from '../check.js'
import { parseObject } from '../metadata.js'
import { CouldNotTest, failed, NotApplicable, type Outcome, passed, verdict } from '../outcome.js'
import { newPushedRequest, push, pushedUrl, requestUriIn } from '../pushed-request.js'
import type { Session } from '../session.js'
import { expectTokenError } from '../token-request.js'

const PAR = ['fapi2', 'valetkey'] as const
/** What servers say of a request_uri that was pushed. */
const REFUSED_URI = ['invalid_request', 'request_uri_not_supported', 'invalid_request_uri']

/** Pushed authorization requests (RFC 9126), for servers that announce them. */
export const parChecks: readonly Check[] = [
  {
    id: 'par-response',
    title: 'a pushed request is 201 with request_uri and a positive expires_in',
    section: 'RFC 9126 §2.2',
    level: 'MUST',
    profiles: PAR,
    needs: ['client'],
    hint: 'Respond with 201 and JSON: request_uri and expires_in, a number of seconds.',
    async run(session) {
      const response = await push(session)
      if (requestUriIn(session, response) === undefined) return failed(`status ${response.status} without request_uri`)
      const expiresIn = parseObject(response.body)?.expires_in
      if (typeof expiresIn !== 'number' || expiresIn <= 0) return failed(`expires_in is ${JSON.stringify(expiresIn)}`)
      return verdict(response.status === 201, `status is ${response.status}`)
    }
  },
  {
    id: 'par-client-authentication',
    title: 'a confidential client that pushes with a wrong secret is invalid_client',
    section: 'RFC 9126 §2.1',
    level: 'MUST',
    profiles: PAR,
    needs: ['client', 'secret'],
    hint: 'Authenticate clients as at the token endpoint.',
    async run(session) {
      const client = { ...session.client(), secret: 'wrong' }
      return expectTokenError(session, await push(session, {}, client), ['invalid_client'])
    }
  },
  {
    id: 'par-request-uri',
    title: 'a pushed request with request_uri is refused',
    section: 'RFC 9126 §2.1',
    level: 'MUST',
    profiles: PAR,
    needs: ['client'],
    hint: 'Respond with invalid_request.',
    async run(session) {
      const response = await push(session, { request_uri: 'urn:ietf:params:oauth:request_uri:conformance' })
      return expectTokenError(session, response, REFUSED_URI)
    }
  },
  {
    id: 'par-foreign-client',
    title: 'a request_uri of another client is refused',
    section: 'RFC 9126 §2.2',
    level: 'MUST',
    profiles: PAR,
    needs: ['client', 'other client', 'sign-in'],
    hint: 'Bind the request_uri to the client that pushed the request.',
    async run(session) {
      const requestUri = await newPushedRequest(session)
      return expectNoCode(session, pushedUrl(session, requestUri, session.otherClient()))
    }
  },
  {
    id: 'par-reload',
    title: 'a request_uri still works after a reload, until the user decides',
    section: 'FAPI 2.0 Security Profile §5.3.2.2',
    level: 'SHOULD',
    profiles: PAR,
    needs: ['client', 'sign-in'],
    hint: 'Use the request up when the user decides, not when a browser opens it.',
    async run(session) {
      const url = pushedUrl(session, await newPushedRequest(session))
      const first = await openAuthorization(session, url)
      if (first.kind !== 'page') return failed('the server refused the first visit')
      return verdict(await hasCode(session, url), 'the server issued no code')
    }
  },
  {
    id: 'par-single-use',
    title: 'a request_uri is refused after the decision of the user',
    section: 'RFC 9126 §4',
    level: 'SHOULD',
    profiles: PAR,
    needs: ['client', 'sign-in'],
    hint: 'Use the request up when the user decides.',
    async run(session) {
      const url = pushedUrl(session, await newPushedRequest(session))
      if (!(await hasCode(session, url))) throw new CouldNotTest('the server issued no code for a pushed request')
      return expectNoCode(session, url)
    }
  }
]

/** Whether the user who opens the address gets a code: in one visit, because some servers use the request up then. */
async function hasCode({ signIn, remember }: Session, url: URL): Promise<boolean> {
  if (signIn === undefined) throw new NotApplicable('needs --sign-in')
  const to = await signIn(url.href)
  const code = to === undefined ? null : responseParameters(to).get('code')
  remember(code ?? '')
  return code !== null
}

async function expectNoCode(session: Session, url: URL): Promise<Outcome> {
  return (await hasCode(session, url)) ? failed('the server issued code') : passed
}
