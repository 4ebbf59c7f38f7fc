import {
  authorizationUrl,
  challengeOf,
  errorRedirect,
  expectRefusal,
  newVerifier,
  openAuthorization
} from '../authorization.js'
import type { Check } from '../check.js'
import { failed, NotApplicable, type Outcome, PROFILES, verdict } from '../outcome.js'
import type { Session } from '../session.js'

/** All characters are allowed (RFC 6749 appendix A.5). */
const STATE = 'x y+z%20&error=none/"~'

/** Other refusals of the authorization endpoint, and its pages. */
export const authorizationChecks: readonly Check[] = [
  {
    id: 'authorize-response-type-token',
    title: 'response_type=token is refused',
    section: 'RFC 9700 §2.1.2',
    level: 'SHOULD',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    needs: ['client'],
    hint: 'Switch the implicit grant off, at least for this client.',
    run: (session) => expectRefusal(session, { response_type: 'token' })
  },
  {
    id: 'authorize-response-type-missing',
    title: 'a request without response_type is refused',
    section: 'RFC 6749 §3.1.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Redirect with invalid_request.',
    run: (session) =>
      expectRefusal(session, { response_type: undefined }, ['invalid_request', 'unsupported_response_type'])
  },
  {
    id: 'authorize-response-type-unknown',
    title: 'an unknown response_type is unsupported_response_type',
    section: 'RFC 6749 §4.1.2.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Redirect with unsupported_response_type.',
    run: (session) => expectRefusal(session, { response_type: 'conformance' }, ['unsupported_response_type'])
  },
  {
    id: 'authorize-error-state',
    title: 'an error response has the state of the request, unchanged',
    section: 'RFC 6749 §4.1.2.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Encode state once; do not decode, trim or filter it.',
    async run(session) {
      const state = (await errorRedirect(session, STATE)).get('state')
      return verdict(state === STATE, `state came back as ${JSON.stringify(state)}`)
    }
  },
  {
    id: 'authorize-error-iss',
    title: 'an error response has iss, the issuer',
    section: 'RFC 9207 §2',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Send iss with errors, too; stop announcing it if you do not send it.',
    async run(session) {
      expectIssAnnounced(session)
      const iss = (await errorRedirect(session, STATE)).get('iss')
      return verdict(iss === session.issuer, `iss is ${JSON.stringify(iss)}`)
    }
  },
  {
    id: 'authorize-pkce-required',
    title: 'a request without code_challenge is refused',
    section: 'RFC 9700 §2.1.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Require PKCE for public clients always, for others by a setting. Valetkey: clients create --require-pkce.',
    run: (session) => evaluateMissingChallenge(session)
  },
  {
    id: 'authorize-pkce-plain',
    title: 'the PKCE method plain is refused',
    section: 'RFC 9700 §2.1.1',
    level: 'SHOULD',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    needs: ['client'],
    hint: 'Support only S256.',
    run: (session) => expectRefusal(session, { code_challenge: newVerifier(), code_challenge_method: 'plain' })
  },
  {
    id: 'authorize-pkce-no-method',
    title: 'a code_challenge without a method is refused, because it means plain',
    section: 'RFC 7636 §4.3',
    level: 'SHOULD',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    needs: ['client'],
    hint: 'Do not read a missing method as S256 or as plain.',
    run: (session) => expectRefusal(session, { code_challenge_method: undefined })
  },
  {
    id: 'authorize-pkce-unknown-method',
    title: 'an unknown PKCE method is invalid_request',
    section: 'RFC 7636 §4.4.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Refuse methods that are not announced.',
    run: (session) => expectRefusal(session, { code_challenge_method: 'S999' }, ['invalid_request'])
  },
  {
    id: 'authorize-repeated-parameter',
    title: 'a repeated parameter is invalid_request',
    section: 'RFC 6749 §3.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Do not take the first or the last value.',
    run: (session) =>
      expectRefusal(session, { code_challenge: [newVerifier(), newVerifier()].map(challengeOf) }, ['invalid_request'])
  },
  {
    id: 'authorize-unknown-parameter',
    title: 'an unknown parameter is ignored',
    section: 'RFC 6749 §3.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Clients send parameters of extensions that the server does not know.',
    async run(session) {
      const answer = await openAuthorization(session, authorizationUrl(session, { conformance_unknown: '1' }))
      if (answer.kind === 'refused') return failed(`the server responded with ${answer.status}`)
      const error = answer.kind === 'redirected' ? answer.to.searchParams.get('error') : null
      // A server that needs a user may say so.
      return verdict(error === null || /^(login|consent|interaction)_required$/.test(error), `error is ${error}`)
    }
  },
  {
    id: 'authorize-unknown-resource',
    title: 'an unknown resource is invalid_target',
    section: 'RFC 8707 §2',
    level: 'SHOULD',
    profiles: ['mcp', 'valetkey'],
    needs: ['client'],
    hint: 'Read resource, and issue tokens for known resources only.',
    run: (session) => expectRefusal(session, { resource: 'https://stranger.invalid/' }, ['invalid_target'])
  },
  {
    id: 'authorize-clickjacking',
    title: 'the first page cannot be shown in a frame',
    section: 'RFC 9700 §4.16',
    level: 'MUST',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    needs: ['client'],
    hint: "Send Content-Security-Policy: frame-ancestors 'none', or X-Frame-Options: DENY.",
    run: (session) => evaluateFrames(session)
  },
  {
    id: 'authorize-no-cors',
    title: 'scripts of other origins cannot read the authorization endpoint',
    section: 'RFC 9700 §2.6',
    level: 'MUST',
    profiles: ['oauth2.1', 'bcp', 'valetkey'],
    hint: 'Send no Access-Control-Allow-Origin there.',
    async run(session) {
      const headers = { accept: 'text/html', origin: 'https://stranger.invalid' }
      const response = await session.send({ method: 'GET', url: session.metadata.authorizationEndpoint, headers })
      const allowed = response.headers.get('access-control-allow-origin')
      return verdict(allowed === null, `Access-Control-Allow-Origin is ${allowed}`)
    }
  }
]

/** @throws NotApplicable if the server does not announce `iss` */
export function expectIssAnnounced({ metadata }: Session): void {
  if (metadata.document.authorization_response_iss_parameter_supported !== true) {
    throw new NotApplicable('the server does not announce iss')
  }
}

/** RFC 9700 requires PKCE for public clients only; OAuth 2.1 and MCP for all. */
async function evaluateMissingChallenge(session: Session): Promise<Outcome> {
  const isForAll = session.profile === 'oauth2.1' || session.profile === 'mcp'
  if (!isForAll && session.client().secret !== undefined) throw new NotApplicable('concerns public clients')
  return expectRefusal(session, { code_challenge: undefined, code_challenge_method: undefined })
}

const FRAME_ANCESTORS = /(?:^|[;,])\s*frame-ancestors(?:\s+([^;,]*))?(?=[;,]|$)/gi
const ANY_SITE = /(?:^|\s)(?:\*|https?:(?:\/\/\*)?)(?:\s|$)/i

async function evaluateFrames(session: Session): Promise<Outcome> {
  const answer = await openAuthorization(session, authorizationUrl(session))
  if (answer.kind !== 'page' || answer.page === undefined) {
    throw new NotApplicable('a valid request shows no page on this server')
  }
  const { headers } = answer.page
  const policies = [...(headers.get('content-security-policy') ?? '').matchAll(FRAME_ANCESTORS)]
  const sources = policies.map(([, list = '']) => list.trim())
  if (sources.length > 0) {
    // Browsers then ignore X-Frame-Options. Of several policies, each must allow the frame.
    const isOpen = sources.every((list) => ANY_SITE.test(list))
    return verdict(!isOpen, `frame-ancestors allows every site: ${sources.join(', ')}`)
  }
  const isDenied = /^\s*(deny|sameorigin)\s*$/i.test(headers.get('x-frame-options') ?? '')
  return verdict(isDenied, 'neither frame-ancestors nor X-Frame-Options')
}
