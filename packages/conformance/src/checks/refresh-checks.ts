import type { Check } from '../check.js'
import { newTokens, readTokens, refresh, refreshTokenOf } from '../grant.js'
import { NotApplicable, type Outcome, PROFILES, passed, verdict } from '../outcome.js'
import type { Session } from '../session.js'
import { expectTokenError, postForm, tokenMembers } from '../token-request.js'

const FLOW = { level: 'MUST', profiles: PROFILES, needs: ['client', 'sign-in'] } as const
const UNKNOWN_SCOPE = 'conformance.unknown'

/** A grant that was refreshed twice: the first two refresh tokens are retired. */
function refreshTwice(session: Session) {
  return session.once('two refreshes', async () => {
    const first = refreshTokenOf(await newTokens(session))
    const second = await refreshed(session, first)
    return { first, second, third: await refreshed(session, second) }
  })
}

/** @returns the refresh token after a refresh; the same one, if the server does not rotate */
async function refreshed(session: Session, refreshToken: string): Promise<string> {
  return readTokens(session, await refresh(session, refreshToken)).refreshToken ?? refreshToken
}

/** RFC 9700 requires rotation for public clients; Valetkey rotates for all. */
function expectRotationConcerns(session: Session): void {
  if (session.client().secret === undefined || session.profile === 'valetkey') return
  throw new NotApplicable('concerns public clients')
}

/** Refresh tokens and revocation: they need a user who signs in. */
export const refreshChecks: readonly Check[] = [
  {
    id: 'refresh-rotation',
    title: 'a refresh returns another refresh token',
    section: 'RFC 9700 §2.2.2',
    ...FLOW,
    hint: 'Rotate refresh tokens of public clients, or bind them to a key of the client (DPoP).',
    async run(session) {
      expectRotationConcerns(session)
      const { first, second } = await refreshTwice(session)
      return verdict(first !== second, 'the refresh token stayed the same')
    }
  },
  {
    id: 'refresh-reuse',
    title: 'a retired refresh token is refused, after its successor was used',
    section: 'RFC 9700 §4.14.2',
    ...FLOW,
    hint: 'A time in which a lost response may be repeated ends when the successor is used.',
    async run(session) {
      expectRotationConcerns(session)
      return expectTokenError(session, await reuse(session), ['invalid_grant'])
    }
  },
  {
    id: 'refresh-reuse-ends-grant',
    title: 'reuse of a retired refresh token ends the current one',
    section: 'RFC 9700 §4.14.2',
    ...FLOW,
    hint: 'The server cannot know which of the two is the thief.',
    async run(session) {
      expectRotationConcerns(session)
      const { third } = await refreshTwice(session)
      await reuse(session)
      return expectTokenError(session, await refresh(session, third), ['invalid_grant'])
    }
  },
  {
    id: 'refresh-of-another-client',
    title: 'a refresh token of another client is refused',
    section: 'RFC 6749 §6',
    ...FLOW,
    needs: ['client', 'other client', 'sign-in'],
    hint: 'Compare the authenticated client with the client of the grant.',
    async run(session) {
      const token = refreshTokenOf(await newTokens(session))
      const response = await refresh(session, token, {}, session.otherClient())
      return expectTokenError(session, response, ['invalid_grant', 'unauthorized_client'])
    }
  },
  {
    id: 'refresh-more-scope',
    title: 'a refresh never gets more scope than the user allowed',
    section: 'RFC 6749 §6',
    ...FLOW,
    hint: 'Respond with invalid_scope, or issue the scope of the grant.',
    run: (session) => evaluateMoreScope(session)
  },
  {
    id: 'revocation-unknown-token',
    title: 'revocation of an unknown token is 200',
    section: 'RFC 7009 §2.2',
    ...FLOW,
    needs: ['client'],
    hint: 'The purpose is already fulfilled, so there is no error.',
    async run(session) {
      const { status } = await revoke(session, 'conformance-unknown-token')
      return verdict(status === 200, `status is ${status}`)
    }
  },
  {
    id: 'revocation-ends-refresh-token',
    title: 'a revoked refresh token is refused',
    section: 'RFC 7009 §2.1',
    ...FLOW,
    hint: 'Revoke at once, and the whole grant.',
    async run(session) {
      expectRevocation(session)
      const token = refreshTokenOf(await newTokens(session))
      await revoke(session, token)
      return expectTokenError(session, await refresh(session, token), ['invalid_grant'])
    }
  }
]

function reuse(session: Session) {
  return session.once('refresh reuse', async () => refresh(session, (await refreshTwice(session)).first))
}

async function evaluateMoreScope(session: Session): Promise<Outcome> {
  const { refreshToken, response } = await newTokens(session)
  const granted = tokenMembers(session, response).scope ?? session.client().scope ?? ''
  const asked = { scope: `${granted} ${UNKNOWN_SCOPE}`.trim() }
  const answer = await refresh(session, refreshTokenOf({ refreshToken, response, accessToken: '' }), asked)
  const { access_token: accessToken, scope = asked.scope } = tokenMembers(session, answer)
  if (accessToken === undefined) return expectTokenError(session, answer, ['invalid_scope'])
  // Without scope in the response, the scope of the request was granted (RFC 6749 §5.1).
  return `${scope}`.split(' ').includes(UNKNOWN_SCOPE) ? verdict(false, `the server granted ${UNKNOWN_SCOPE}`) : passed
}

/** @throws NotApplicable */
function expectRevocation({ metadata }: Session): string {
  if (metadata.revocationEndpoint !== undefined) return metadata.revocationEndpoint
  throw new NotApplicable('the metadata has no revocation_endpoint')
}

function revoke(session: Session, token: string) {
  return postForm(session, expectRevocation(session), { token }, session.client())
}
