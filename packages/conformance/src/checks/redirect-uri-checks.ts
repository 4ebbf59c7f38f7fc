import { randomBytes } from 'node:crypto'
import { authorizationUrl, completeAuthorization } from '../authorization.js'
import type { Check } from '../check.js'
import { failed, NotApplicable, type Outcome, PROFILES, passed, verdict } from '../outcome.js'
import type { Session } from '../session.js'

/** The domain is reserved (RFC 2606), so it has no owner. */
const STRANGER = 'https://stranger.invalid/callback'
/** The URI is compared as text, because a parsed URI comes back in normal form. */
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::(\d+))?((?:[/?].*)?)$/
const NO_REDIRECT =
  'Show an error page with status 400; never redirect before client and redirect URI are known to fit.'

/** Passed if the browser never reaches the URI of the request. */
async function expectNoRedirect(session: Session, request: URL): Promise<Outcome> {
  const answer = await completeAuthorization(session, request)
  if (answer.kind === 'redirected') return failed(`the server redirected to ${answer.to.origin}${answer.to.pathname}`)
  return verdict(answer.status < 500, `the server responded with ${answer.status}`)
}

/** A request without a registered client. */
function requestOfStranger(session: Session, clientId: string | undefined): URL {
  const url = new URL(session.metadata.authorizationEndpoint)
  const parameters = { response_type: 'code', redirect_uri: STRANGER, state: 'x', client_id: clientId }
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.append(name, value)
  return url
}

function changedUri(change: (uri: URL) => void) {
  return (session: Session) => {
    const uri = new URL(session.client().redirectUri)
    change(uri)
    if (uri.href === new URL(session.client().redirectUri).href) {
      throw new NotApplicable('the redirect URI of the client has no such part')
    }
    return expectNoRedirect(session, authorizationUrl(session, { redirect_uri: uri.href }))
  }
}

/** Checks which redirect URIs the authorization endpoint accepts. */
export const redirectUriChecks: readonly Check[] = [
  {
    id: 'authorize-unknown-client',
    title: 'an unknown client is never redirected',
    section: 'RFC 6749 §4.1.2.1',
    level: 'MUST',
    profiles: PROFILES,
    hint: NO_REDIRECT,
    run: (session) => expectNoRedirect(session, requestOfStranger(session, `unknown-${randomBytes(6).toString('hex')}`))
  },
  {
    id: 'authorize-missing-client',
    title: 'a request without client_id is never redirected',
    section: 'RFC 6749 §4.1.2.1',
    level: 'MUST',
    profiles: PROFILES,
    hint: NO_REDIRECT,
    run: (session) => expectNoRedirect(session, requestOfStranger(session, undefined))
  },
  {
    id: 'authorize-unreachable-client-document',
    title: 'a client id document that cannot be read is never redirected',
    section: 'RFC 6749 §4.1.2.1',
    level: 'MUST',
    profiles: ['mcp'],
    hint: NO_REDIRECT,
    run(session) {
      if (session.metadata.document.client_id_metadata_document_supported !== true) {
        throw new NotApplicable('the server does not announce client id metadata documents')
      }
      return expectNoRedirect(session, requestOfStranger(session, 'https://stranger.invalid/client.json'))
    }
  },
  {
    id: 'authorize-unregistered-redirect-uri',
    title: 'an unregistered redirect URI gets no redirect',
    section: 'RFC 6749 §3.1.2.4',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: NO_REDIRECT,
    run: (session) => expectNoRedirect(session, authorizationUrl(session, { redirect_uri: STRANGER }))
  },
  {
    id: 'authorize-redirect-uri-host',
    title: 'a registered host as the beginning of another host gets no redirect',
    section: 'RFC 9700 §2.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Compare the whole redirect URI as text, not its beginning.',
    run: changedUri((uri) => {
      uri.hostname = `${uri.hostname.replace(/^\[|\]$/g, '').replaceAll(':', '-')}.stranger.invalid`
    })
  },
  {
    id: 'authorize-redirect-uri-path',
    title: 'a registered redirect URI with a longer path gets no redirect',
    section: 'RFC 9700 §2.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Compare the whole redirect URI as text, not its beginning.',
    run: changedUri((uri) => {
      uri.pathname = `${uri.pathname.replace(/\/$/, '')}/extra`
    })
  },
  {
    id: 'authorize-redirect-uri-query',
    title: 'a registered redirect URI with another query gets no redirect',
    section: 'RFC 9700 §2.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Compare the whole redirect URI as text, with its query.',
    run: changedUri((uri) => uri.searchParams.append('extra', '1'))
  },
  {
    id: 'authorize-repeated-redirect-uri',
    title: 'of two redirect URIs, the unregistered one gets no redirect',
    section: 'RFC 6749 §3.1',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Refuse a repeated redirect_uri with an error page.',
    run: (session) => evaluateRepeated(session)
  },
  {
    id: 'authorize-loopback-port',
    title: 'a redirect URI on http://127.0.0.1 or http://[::1] may have any port',
    section: 'RFC 8252 §7.3',
    level: 'MUST',
    profiles: PROFILES,
    needs: ['client'],
    hint: 'Leave out the port when you compare redirect URIs on loopback addresses.',
    run: (session) => evaluateLoopbackPort(session)
  }
]

async function evaluateRepeated(session: Session): Promise<Outcome> {
  const { redirectUri } = session.client()
  for (const uris of [
    [redirectUri, STRANGER],
    [STRANGER, redirectUri]
  ]) {
    const answer = await completeAuthorization(session, authorizationUrl(session, { redirect_uri: uris }))
    if (answer.kind === 'redirected' && answer.to.href.startsWith(STRANGER)) return failed(`redirected to ${STRANGER}`)
  }
  return passed
}

async function evaluateLoopbackPort(session: Session): Promise<Outcome> {
  const [, origin, port, rest] = LOOPBACK.exec(session.client().redirectUri) ?? []
  if (origin === undefined)
    throw new NotApplicable('the redirect URI of the client is not on http://127.0.0.1 or http://[::1]')
  const other = `${origin}:${port === '49152' ? '49153' : '49152'}${rest}`
  const answer = await completeAuthorization(session, authorizationUrl(session, { redirect_uri: other }))
  return verdict(answer.kind === 'redirected', 'the server refused the same URI with another port')
}
