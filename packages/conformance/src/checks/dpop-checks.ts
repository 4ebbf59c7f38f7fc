import type { Check } from '../check.js'
import { type DpopKey, newDpopKey, newDpopProof } from '../dpop-proof.js'
import { newCode, readTokens, redeem, refresh, refreshTokenOf } from '../grant.js'
import type { Received } from '../http.js'
import { NotApplicable, type Outcome, PROFILES, verdict } from '../outcome.js'
import type { Session } from '../session.js'
import { expectTokenError, tokenMembers } from '../token-request.js'

const FLOW = { level: 'MUST', profiles: PROFILES, needs: ['client', 'sign-in'] } as const
const BAD_PROOF = ['invalid_dpop_proof']
const OTHER_KEY = ['invalid_grant', 'invalid_dpop_proof']

/** Tokens that are bound to keys (RFC 9449), for servers that announce them. */
export const dpopChecks: readonly Check[] = [
  {
    id: 'dpop-algorithms',
    title: 'the announced algorithms of DPoP proofs are asymmetric',
    section: 'RFC 9449 §5.1',
    level: 'MUST',
    profiles: PROFILES,
    hint: 'Remove none and HS256, HS384 and HS512 from dpop_signing_alg_values_supported.',
    run(session) {
      const wrong = algorithmsOf(session).filter((algorithm) => /^(none|HS\d+)$/i.test(`${algorithm}`))
      return verdict(wrong.length === 0, `announced: ${wrong.join(', ')}`)
    }
  },
  {
    id: 'dpop-signature',
    title: 'a proof that another key has signed is refused',
    section: 'RFC 9449 §4.3',
    ...FLOW,
    hint: 'Verify the signature with the jwk of the proof; respond with invalid_dpop_proof.',
    async run(session) {
      const key = keyFor(session)
      const url = session.metadata.tokenEndpoint
      const proof = (nonce?: string) => newDpopProof(key, url, { nonce, signedBy: newDpopKey() })
      return expectTokenError(session, await exchange(session, proof), BAD_PROOF)
    }
  },
  {
    id: 'dpop-target',
    title: 'a proof for another address is refused',
    section: 'RFC 9449 §4.3',
    ...FLOW,
    hint: 'Compare htu with the URL of the token endpoint, as the metadata has it.',
    async run(session) {
      const key = keyFor(session)
      const proof = (nonce?: string) => newDpopProof(key, 'https://stranger.invalid/token', { nonce })
      return expectTokenError(session, await exchange(session, proof), BAD_PROOF)
    }
  },
  {
    id: 'dpop-token-type',
    title: 'an exchange with a proof returns an access token of the type DPoP',
    section: 'RFC 9449 §5',
    ...FLOW,
    level: 'SHOULD',
    hint: 'Bind the token to the key of the proof. Valetkey: resource-servers update --dpop allowed.',
    async run(session) {
      const response = await exchange(session, proofsOf(session, keyFor(session)))
      const { token_type: type, error } = tokenMembers(session, response)
      const found = type === undefined ? `error is ${error ?? 'missing'}` : `token_type is ${JSON.stringify(type)}`
      return verdict(typeof type === 'string' && type.toLowerCase() === 'dpop', found)
    }
  },
  {
    id: 'dpop-code-key',
    title: 'a code with dpop_jkt is refused with a proof of another key',
    section: 'RFC 9449 §10',
    ...FLOW,
    hint: 'Compare dpop_jkt of the authorization request with the thumbprint of the key of the proof.',
    async run(session) {
      const key = keyFor(session)
      const response = await exchange(session, proofsOf(session, newDpopKey()), { dpop_jkt: key.thumbprint })
      return expectTokenError(session, response, OTHER_KEY)
    }
  },
  {
    id: 'dpop-refresh-key',
    title: 'a refresh token of a public client is refused with a proof of another key',
    section: 'RFC 9449 §5',
    ...FLOW,
    hint: 'Bind the refresh tokens of public clients to the key of the proof.',
    run: (session) => refreshBoundToken(session, newDpopKey())
  },
  {
    id: 'dpop-refresh-proof',
    title: 'a refresh token of a public client is refused without a proof, if the first request had one',
    section: 'RFC 9449 §5',
    ...FLOW,
    hint: 'A bound refresh token needs a proof each time.',
    run: (session) => refreshBoundToken(session, undefined)
  }
]

type MakeProof = (nonce?: string) => string

const proofsOf =
  (session: Session, key: DpopKey): MakeProof =>
  (nonce) =>
    newDpopProof(key, session.metadata.tokenEndpoint, { nonce })

/** Exchanges a new code. @param change of the authorization request */
async function exchange(session: Session, prove: MakeProof, change: Record<string, string> = {}): Promise<Received> {
  const code = await newCode(session, change)
  return withProof(session, prove, (proof) => redeem(session, code, {}, undefined, proof))
}

/** Sends a request, once more if the server wants its nonce in the proof (RFC 9449 §8). */
async function withProof(
  session: Session,
  prove: MakeProof,
  send: (proof: string) => Promise<Received>
): Promise<Received> {
  const response = await send(prove())
  const nonce = response.headers.get('dpop-nonce')
  const isAsked = tokenMembers(session, response).error === 'use_dpop_nonce'
  return isAsked && nonce !== null ? send(prove(nonce)) : response
}

/** @param key of the proof of the refresh; undefined: without a proof */
async function refreshBoundToken(session: Session, key: DpopKey | undefined): Promise<Outcome> {
  if (session.client().secret !== undefined) throw new NotApplicable('concerns public clients')
  const first = await exchange(session, proofsOf(session, keyFor(session)))
  const token = refreshTokenOf(readTokens(session, first))
  const response =
    key === undefined
      ? await refresh(session, token)
      : await withProof(session, proofsOf(session, key), (proof) => refresh(session, token, {}, undefined, proof))
  return expectTokenError(session, response, key === undefined ? [...OTHER_KEY, 'invalid_request'] : OTHER_KEY)
}

/** @throws NotApplicable */
function algorithmsOf({ metadata: { document } }: Session): readonly unknown[] {
  const algorithms = document.dpop_signing_alg_values_supported
  if (Array.isArray(algorithms)) return algorithms
  throw new NotApplicable('the metadata has no dpop_signing_alg_values_supported')
}

/** @throws NotApplicable */
function keyFor(session: Session): DpopKey {
  if (algorithmsOf(session).includes('ES256')) return newDpopKey()
  throw new NotApplicable('the server takes no ES256 proofs')
}
