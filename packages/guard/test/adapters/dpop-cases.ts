import { makeProof, newProofKey, type ProofOf } from '../../../dev-stack/lib/client/dpop-proof.mjs'
import { json } from '../fake-introspection-endpoint.js'
import { type Case, live } from './cases.js'

export const KEY = newProofKey()
export const OTHER_KEY = newProofKey()
/** What the clients of the API call; its paths have no prefix. */
export const URL_OF_REPORTS = 'https://reports.example/reports'

/** The introspection response for a token that is bound to `KEY` (RFC 9449 §6.2). */
export const bound = { ...live, token_type: 'DPoP', cnf: { jkt: KEY.thumbprint } }

export type Header = readonly [string, string]
type Mode = 'allowed' | 'required'

/** @property challenges the error of each challenge, in order; '' without an error */
export type DpopCase = {
  name: string
  target?: string
  method?: string
  answer: Case['answer']
  headers: () => readonly Header[]
  status: number
  challenges?: Readonly<Record<Mode, readonly string[]>>
  /** Where DPoP is required. */
  required?: number
  reason?: string
}

export const dpop = (change: Partial<ProofOf> = {}): readonly Header[] => [
  ['Authorization', 'DPoP abc'],
  ['DPoP', makeProof({ key: KEY, accessToken: 'abc', url: URL_OF_REPORTS, ...change })]
]
const bearer: Header = ['Authorization', 'Bearer abc']
export const scheme: Header = ['Authorization', 'DPoP abc']
export const proof = (change: Partial<ProofOf> = {}): Header => dpop(change)[1] as Header

const inBearer = (error: string) => ({ allowed: [`Bearer ${error}`, 'DPoP '], required: [`DPoP ${error}`] })
const inDpop = (error: string) => ({ allowed: ['Bearer ', `DPoP ${error}`], required: [`DPoP ${error}`] })
const NO_ERROR = { allowed: ['Bearer ', 'DPoP '], required: ['DPoP '] }
const IN_BOTH = {
  allowed: ['Bearer invalid_request', 'DPoP invalid_request'],
  required: ['DPoP invalid_request']
}

/** One row for each row of the guard's rules. */
export const RULES: readonly DpopCase[] = [
  { name: 'no credentials', answer: json(bound), headers: () => [], status: 401, challenges: NO_ERROR },
  { name: 'a proof alone', answer: json(bound), headers: () => [proof()], status: 401, challenges: NO_ERROR },
  {
    name: 'another scheme',
    answer: json(bound),
    headers: () => [['Authorization', 'Basic abc'], proof()],
    status: 401,
    challenges: NO_ERROR
  },
  {
    name: 'Bearer with a plain token',
    answer: json(live),
    headers: () => [bearer],
    status: 200,
    required: 401,
    challenges: inBearer('invalid_token')
  },
  {
    name: 'Bearer with a plain token and a proof',
    answer: json(live),
    headers: () => [bearer, proof()],
    status: 200,
    required: 401,
    challenges: inBearer('invalid_token')
  },
  {
    name: 'Bearer with a bound token',
    answer: json(bound),
    headers: () => [bearer],
    status: 401,
    challenges: inBearer('invalid_token')
  },
  {
    name: 'Bearer with a bound token and its proof',
    answer: json(bound),
    headers: () => [bearer, proof()],
    status: 401,
    challenges: inBearer('invalid_token')
  },
  { name: 'DPoP with a bound token and its proof', answer: json(bound), headers: dpop, status: 200 },
  {
    name: 'DPoP without a proof',
    answer: json(bound),
    headers: () => [scheme],
    status: 401,
    challenges: inDpop('invalid_dpop_proof'),
    reason: 'proof_missing'
  },
  {
    name: 'DPoP with a bad proof',
    answer: json(bound),
    headers: () => dpop({ claims: { htm: 'POST' } }),
    status: 401,
    challenges: inDpop('invalid_dpop_proof'),
    reason: 'proof_htm'
  },
  {
    name: 'DPoP with a plain token',
    answer: json(live),
    headers: dpop,
    status: 401,
    challenges: inDpop('invalid_token'),
    reason: 'not_bound'
  },
  {
    name: 'DPoP with a plain token and no proof',
    answer: json(live),
    headers: () => [scheme],
    status: 401,
    challenges: inDpop('invalid_token'),
    reason: 'not_bound'
  },
  {
    name: 'DPoP with a token of another key',
    answer: json(bound),
    headers: () => dpop({ key: OTHER_KEY }),
    status: 401,
    challenges: inDpop('invalid_token'),
    reason: 'proof_other_key'
  },
  {
    name: 'DPoP with an unknown token, whatever the proof',
    answer: json({ active: false }),
    headers: () => [scheme, ['DPoP', 'x']],
    status: 401,
    challenges: inDpop('invalid_token'),
    reason: 'not_active'
  },
  {
    name: 'DPoP with too little scope',
    answer: json({ ...bound, scope: 'profile' }),
    headers: dpop,
    status: 403,
    challenges: inDpop('insufficient_scope'),
    reason: 'insufficient_scope'
  },
  {
    name: 'DPoP with too little scope and a bad proof',
    answer: json({ ...bound, scope: 'profile' }),
    headers: () => dpop({ claims: { htm: 'POST' } }),
    status: 401,
    challenges: inDpop('invalid_dpop_proof'),
    reason: 'proof_htm'
  },
  {
    name: 'Bearer and DPoP in two headers',
    answer: json(bound),
    headers: () => [bearer, scheme, proof()],
    status: 400,
    challenges: IN_BOTH,
    reason: 'doubled_header'
  },
  {
    name: 'DPoP twice',
    answer: json(bound),
    headers: () => [scheme, scheme, proof()],
    status: 400,
    challenges: IN_BOTH,
    reason: 'doubled_header'
  },
  {
    name: 'a token in the query beside DPoP',
    target: '/reports?access_token=abc',
    answer: json(bound),
    headers: dpop,
    status: 400,
    challenges: IN_BOTH,
    reason: 'token_in_query'
  },
  {
    name: 'DPoP with two words',
    answer: json(bound),
    headers: () => [['Authorization', 'DPoP a b'], proof()],
    status: 401,
    challenges: inDpop('invalid_token'),
    reason: 'malformed'
  },
  {
    name: 'DPoP with an expired token',
    answer: json({ ...bound, exp: live.exp - 7_200 }),
    headers: dpop,
    status: 401,
    challenges: inDpop('invalid_token'),
    reason: 'expired'
  },
  {
    name: 'DPoP with a token for another API',
    answer: json({ ...bound, aud: 'https://other.example' }),
    headers: dpop,
    status: 401,
    challenges: inDpop('invalid_token'),
    reason: 'other_audience'
  },
  {
    name: 'DPoP with a token that is bound to a certificate as well',
    answer: json({ ...bound, cnf: { jkt: KEY.thumbprint, 'x5t#S256': 'abc' } }),
    headers: dpop,
    status: 401,
    challenges: inDpop('invalid_token'),
    reason: 'sender_constrained'
  },
  {
    name: 'DPoP with a bound token that is said to be Bearer',
    answer: json({ ...bound, token_type: 'Bearer' }),
    headers: dpop,
    status: 401,
    challenges: inDpop('invalid_token'),
    reason: 'other_type'
  },
  {
    name: 'DPoP with a bound token without token_type',
    answer: json({ ...bound, token_type: undefined }),
    headers: dpop,
    status: 200
  },
  {
    name: 'the scheme in lower case',
    answer: json(bound),
    headers: () => [['authorization', 'dpop  abc'], proof()],
    status: 200
  },
  {
    name: 'DPoP while introspection fails',
    answer: (response) => response.writeHead(500).end(),
    headers: dpop,
    status: 503
  }
]
