import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { OAuthError, parseParameters } from '@valetkey/oauth-protocol'
import { ASSERTION_REFUSALS, type PublicKey, readPublicKey } from '@valetkey/oauth-protocol/signed'
import { base64url, createLocalJWKSet, decodeJwt, decodeProtectedHeader, errors, type JWK, jwtVerify } from 'jose'
import { randomFrom } from '../../../../../packages/dev-stack/lib/tests/seeded-random.mjs'
import { createAssertionAuthentication } from '../../../src/features/client-keys/authenticate-assertion.js'
import type { ClientRegistration } from '../../../src/storage/postgres/clients.js'

const MUTANTS = 10_000
/** Another seed gives other mutants. */
const SEED = Number(process.env.MUTANTS_SEED ?? 7_523)
const SECONDS = 1_800_000_000
const NOW = new Date(SECONDS * 1_000)
const ISSUER = 'https://auth.example'
const TOKEN_ENDPOINT = `${ISSUER}/token`
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const { random, below, pick } = randomFrom(SEED)

type Key = { alg: string; privateKey: KeyObject; jwk: JWK }

function createKey(alg: string, members: JWK = {}): Key {
  const { privateKey, publicKey } = alg.startsWith('ES')
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : alg.startsWith('Ed')
      ? generateKeyPairSync('ed25519')
      : generateKeyPairSync('rsa', { modulusLength: 2_048 })
  return { alg, privateKey, jwk: { ...(publicKey.export({ format: 'jwk' }) as JWK), ...members } }
}

const EC = createKey('ES256', { kid: 'ec' })
const ED = createKey('Ed25519', { kid: 'ed' })
const RSA = createKey('PS256', { kid: 'rsa' })
const RS_ONLY = createKey('RS256', { kid: 'rs', alg: 'RS256' })
/** Of no client. */
const STRANGER = createKey('ES256', { kid: 'ec' })
/** Without `kid`, at most four keys are tried. */
const MANY = Array.from({ length: 6 }, (_, index) => createKey('ES256', { kid: `many-${index}` }))
const UNNAMED = createKey('ES256')

type TestClient = {
  keys: readonly Key[]
  privateKeyJwt?: 'required' | 'allowed'
  isDiscovered?: boolean
  assertionAlgorithm?: string
}

const DOCUMENT = 'https://app.example/client.json'
const CLIENTS: Readonly<Record<string, TestClient>> = {
  all: { keys: [EC, ED, RSA, RS_ONLY], privateKeyJwt: 'required' },
  'one-algorithm': { keys: [EC, ED, RSA], privateKeyJwt: 'required', assertionAlgorithm: 'ES256' },
  many: { keys: [UNNAMED, ...MANY], privateKeyJwt: 'allowed' },
  [DOCUMENT]: { keys: [EC, ED, RS_ONLY], privateKeyJwt: 'required', isDiscovered: true },
  secret: { keys: [] },
  keyless: { keys: [], privateKeyJwt: 'required' }
}
const clientOf = (clientId: unknown): TestClient | undefined =>
  typeof clientId === 'string' && Object.hasOwn(CLIENTS, clientId) ? CLIENTS[clientId] : undefined

type Verdict = 'accepted' | 'invalid_request' | 'invalid_client'
type Mutant = { form: string; authorization: readonly string[] }

// Our code, with the records of clients and of used assertions in memory.

const usedHere = new Set<string>()
const parsedKeys = new Map(
  Object.entries(CLIENTS).map(([clientId, { keys }]) => [clientId, keys.map(({ jwk }) => parsed(jwk))])
)
const authentication = createAssertionAuthentication({
  clients: {
    async findWithSecrets(clientId) {
      const found = clientOf(clientId)
      return found && { client: { ...found, clientId } as unknown as ClientRegistration, secretHashes: [] }
    }
  },
  keys: { find: async ({ clientId }) => parsedKeys.get(clientId) ?? [] },
  assertions: { use: async (clientId, jti) => isFirst(usedHere, `${clientId}\n${jti}`) },
  usage: { note: () => {} },
  issuer: ISSUER,
  onOtherAudience: () => {},
  now: () => NOW
})

function parsed(jwk: JWK): PublicKey {
  const read = readPublicKey(jwk)
  if (read.kind === 'refused') throw new Error(read.objection)
  return read.key
}

function isFirst(used: Set<string>, name: string): boolean {
  const isNew = !used.has(name)
  used.add(name)
  return isNew
}

async function verdictOf({ form, authorization }: Mutant): Promise<{ verdict: Verdict; reason?: string | undefined }> {
  try {
    await authentication.authenticate(parseParameters(form), authorization)
    return { verdict: 'accepted' }
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return { verdict: error.code as Verdict, reason: error.details.reason }
  }
}

// A second implementation on jose's own API, which shares no code with the first.

const ALGORITHMS = ['ES256', 'PS256', 'RS256', 'EdDSA', 'Ed25519']
const usedThere = new Set<string>()
const keySets = new Map(
  Object.entries(CLIENTS).map(([clientId, { keys }]) => [
    clientId,
    createLocalJWKSet({ keys: keys.map(({ jwk }) => jwk) })
  ])
)

async function judge({ form, authorization }: Mutant): Promise<Verdict> {
  const sent = new URLSearchParams(form)
  const valuesOf = (name: string) => sent.getAll(name).filter((value) => value !== '')
  const names = ['client_assertion_type', 'client_assertion', 'client_id', 'client_secret']
  const isReadable = (value: string) => !/[\p{Cc}\uFFFD]/u.test(value)
  if (names.some((name) => valuesOf(name).length > 1 || !valuesOf(name).every(isReadable))) return 'invalid_request'
  const [[type], [assertion], [clientId], secrets] = names.map(valuesOf) as [string[], string[], string[], string[]]
  if (type !== TYPE || assertion === undefined) return 'invalid_request'
  if (secrets.length > 0 || authorization.length > 0) return 'invalid_request'
  return (await isAuthentic(assertion, clientId).catch(() => false)) ? 'accepted' : 'invalid_client'
}

async function isAuthentic(assertion: string, clientId: string | undefined): Promise<boolean> {
  const parts = assertion.split('.')
  if (assertion.length > 4_096 || !parts.every((part) => base64url.encode(base64url.decode(part)) === part))
    return false
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  for (const part of parts.slice(0, 2)) JSON.parse(decoder.decode(base64url.decode(part)))
  const { typ = 'JWT', crit, ...header } = decodeProtectedHeader(assertion)
  const isNamed = 'typ' in decodeProtectedHeader(assertion)
  const types = ['jwt', 'client-authentication+jwt'].flatMap((name) => [name, `application/${name}`])
  if (!types.includes(typ.toLowerCase()) || crit !== undefined) return false
  if (header.kid !== undefined && typeof header.kid !== 'string') return false
  const { iss, aud, exp = Number.NaN, iat = 0, nbf = 0, jti } = decodeJwt(assertion)
  const client = clientOf(iss)
  if (iss === undefined || client?.privateKeyJwt === undefined || (clientId ?? iss) !== iss) return false
  if (Array.isArray(aud) && aud.length !== 1) return false
  if (!(exp <= SECONDS + 3_630) || ![iat, nbf].every((time) => Number.isFinite(time) && time <= SECONDS + 30))
    return false
  if (typeof jti !== 'string' || jti.length < 1 || jti.length > 256) return false
  await verifyByJose(assertion, {
    issuer: iss,
    subject: iss,
    audience: client.isDiscovered === true && !isNamed ? [ISSUER, TOKEN_ENDPOINT] : ISSUER,
    algorithms: client.assertionAlgorithm === undefined ? ALGORITHMS : [client.assertionAlgorithm],
    requiredClaims: ['exp', 'jti', 'iss', 'sub', 'aud'],
    clockTolerance: 30,
    currentDate: NOW
  })
  return isFirst(usedThere, JSON.stringify([iss, jti]))
}

async function verifyByJose(assertion: string, options: NonNullable<Parameters<typeof jwtVerify>[2]>): Promise<void> {
  const keySet = keySets.get(String(options.issuer))
  if (keySet === undefined) throw new Error('no client')
  try {
    await jwtVerify(assertion, keySet, options)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    let tries = 0
    for await (const key of error) {
      tries += 1
      const isSigner = await jwtVerify(assertion, key, options).then(
        () => true,
        () => false
      )
      if (isSigner) return
      if (tries === 4) break
    }
    throw error
  }
}

// Mutants.

type Members = Record<string, unknown>
/** `huge` and `tiny` are numbers that JSON can write and JavaScript cannot hold. */
const encode = (members: unknown) =>
  Buffer.from(JSON.stringify(members).replaceAll('"huge"', '1e999').replaceAll('"tiny"', '-1e999')).toString(
    'base64url'
  )

function signed({ alg, privateKey }: Key, header: Members, payload: unknown): string {
  const text = `${encode(header)}.${encode(payload)}`
  const input = Buffer.from(text)
  const isPss = privateKey.asymmetricKeyType === 'rsa' && header.alg === 'PS256'
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
  const options = { key: privateKey, dsaEncoding: 'ieee-p1363' as const, ...(isPss && pss) }
  const signature = sign(alg === 'Ed25519' ? null : 'sha256', input, alg === 'Ed25519' ? privateKey : options)
  return `${text}.${signature.toString('base64url')}`
}

const VALUES: readonly unknown[] = [
  undefined,
  null,
  '',
  'a',
  0,
  -1,
  true,
  [],
  {},
  ['a'],
  'huge',
  'tiny',
  'x'.repeat(256),
  'x'.repeat(257)
]
const CLAIMS = ['iss', 'sub', 'aud', 'exp', 'iat', 'nbf', 'jti', 'extra']
const OTHER_IDS = [
  'all',
  'many',
  'secret',
  'keyless',
  'unknown',
  'one-algorithm',
  DOCUMENT,
  'a b',
  'toString',
  '__proto__'
]
const AUDIENCES = [
  ISSUER,
  [ISSUER],
  [ISSUER, ISSUER],
  [[ISSUER]],
  [],
  [TOKEN_ENDPOINT],
  TOKEN_ENDPOINT,
  `${ISSUER}/`,
  ISSUER.toUpperCase(),
  [ISSUER, 'https://x.example']
]
const CLAIM_CHANGES: readonly (() => Members)[] = [
  () => ({ [pick(CLAIMS)]: pick(VALUES) }),
  () => ({ aud: pick(AUDIENCES) }),
  () => ({ exp: SECONDS + pick([-31, -30, -29.5, -29, 0.5, 3_600, 3_630, 3_630.5, 3_631, 1e9]) }),
  () => ({ [pick(['iat', 'nbf'])]: SECONDS + pick([-1e6, 0, 29.5, 30, 30.5, 31, 1e9]) }),
  () => ({ jti: pick(['one', 'two', '\u0000', 'é', '\ud800']) }),
  () => ({ jti: `${below(MUTANTS)}`.padEnd(pick([256, 257]), 'x') }),
  () => ({ aud: TOKEN_ENDPOINT }),
  () => ({ [pick(['iss', 'sub'])]: pick(OTHER_IDS) }),
  () => {
    const clientId = pick(OTHER_IDS)
    return { iss: clientId, sub: clientId }
  }
]
const HEADER_CHANGES: readonly (() => Members)[] = [
  () => ({ [pick(['alg', 'typ', 'kid', 'jwk', 'jku', 'x5c', 'b64', 'crit'])]: pick(VALUES) }),
  () => ({ alg: pick(['none', 'HS256', 'ES384', 'es256', 'RS256', 'PS256', 'EdDSA', 'Ed25519']) }),
  () => ({
    typ: pick(['JWT', 'jwt', 'application/jwt', 'Client-Authentication+JWT', 'dpop+jwt', 'at+jwt', 'JWTs', ' JWT'])
  }),
  () => ({ typ: pick(['application/client-authentication+jwt', 'text/jwt', undefined]) }),
  () => ({ kid: pick(['ec', 'ed', 'rsa', 'rs', 'many-5', 'EC', undefined]) }),
  () => ({ crit: ['b64'], b64: pick([true, false]) }),
  () => ({ jwk: STRANGER.jwk, jku: 'https://evil.example' })
]

/** Changes before the signature: of the signer, of claims, of the header, or none. */
function signedMutant(number: number): { assertion: string; clientId: string } {
  const clientId = random() < 0.03 ? pick(OTHER_IDS) : pick(['all', 'one-algorithm', 'many', DOCUMENT])
  const own = clientOf(clientId)?.keys ?? []
  // RSA signatures cost ten times as much as others.
  const cheap = own.filter(({ alg }) => random() < 0.15 || alg.startsWith('E'))
  const key = random() < 0.04 || cheap.length === 0 ? STRANGER : pick(cheap)
  const alg = key === RSA ? pick(['PS256', 'RS256']) : key === ED ? pick(['EdDSA', 'Ed25519']) : key.alg
  const kid = random() < 0.25 ? undefined : key.jwk.kid
  const payload = {
    iss: clientId,
    sub: clientId,
    aud: ISSUER,
    exp: SECONDS + 60,
    iat: SECONDS,
    jti: `own-${number}`,
    ...(random() < 0.5 && pick(CLAIM_CHANGES)())
  }
  const header = { alg, kid, ...(random() < 0.3 && pick(HEADER_CHANGES)()) }
  const isObject = random() > 0.01
  return { assertion: signed(key, header, isObject ? payload : pick([[payload], 'text', null, 1])), clientId }
}

function reencode(assertion: string, index: 0 | 1, change: (text: string) => string | Uint8Array): string {
  const parts = assertion.split('.')
  const text = Buffer.from(parts[index] ?? '', 'base64url').toString()
  parts[index] = Buffer.from(change(text)).toString('base64url')
  return parts.join('.')
}

/** Changes after the signature. */
const TEXT_CHANGES: readonly ((assertion: string) => string)[] = [
  (text) => {
    const at = below(text.length)
    return text.slice(0, at) + pick([...'AZaz09-_.=+/ ,']) + text.slice(at + 1)
  },
  (text) => text.slice(0, -1) + pick([...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef']),
  (text) => `${text}${pick(['=', '.', ' ', 'A', '.e30'])}`,
  (text) => text.split('.').reverse().join('.'),
  (text) => text.split('.').slice(0, 2).join('.'),
  (text) => `${text.split('.').slice(0, 2).join('.')}.`,
  (text) => text.padEnd(pick([4_097, 4_096]), 'A'),
  (text) => reencode(text, 0, (json) => ` ${json}`),
  (text) => reencode(text, 0, (json) => json.replace('"alg":"', '"alg":"none","x":"')),
  (text) => reencode(text, 0, (json) => json.replace('{', '{"crit":["exp"],"exp":1,')),
  (text) => reencode(text, 1, (json) => json.replace('"sub":"', '"sub":"another","x":"')),
  (text) => reencode(text, 1, () => Buffer.from([0x7b, 0xff, 0x7d])),
  (text) => reencode(text, 1, (json) => `\ufeff${json}`),
  (text) => reencode(text, 1, () => '{'),
  () => 'x',
  () => ''
]

/** Changes of the form around the assertion. */
const FORM_CHANGES: readonly ((form: string, clientId: string) => string)[] = [
  (form) => `${form}&client_secret=${pick(['x', '', '%00'])}`,
  (form) => `${form}&client_assertion=${pick(['x', ''])}`,
  (form) => `${form}&client_assertion_type=${pick(['x', ''])}`,
  (form) => form.replace('jwt-bearer', pick(['saml2-bearer', 'JWT-bearer', 'jwt-bearer%20'])),
  (form, clientId) => `${form}&client_id=${encodeURIComponent(clientId)}`,
  (form, clientId) => `${form}&client_id=${encodeURIComponent(clientId)}&client_id=${encodeURIComponent(clientId)}`,
  (form) => `${form}&client_id=${pick(['all', 'many', 'unknown', '%FF', '%00', ''])}`,
  (form) => `${form}&client_assertion%5B%5D=x&scope=%FF`
]

function nextMutant(number: number): Mutant {
  const { assertion, clientId } = signedMutant(number)
  const text = random() < 0.2 ? pick(TEXT_CHANGES)(assertion) : assertion
  const form = new URLSearchParams({ client_assertion_type: TYPE, client_assertion: text }).toString()
  return {
    form: random() < 0.15 ? pick(FORM_CHANGES)(form, clientId) : form,
    authorization: random() < 0.01 ? ['Basic YTpi'] : []
  }
}

test(`${MUTANTS} mutants of client assertions are judged alike by two implementations, seed ${SEED}`, async () => {
  const counts = { accepted: 0, invalid_request: 0, invalid_client: 0 }
  const reasons = new Set<string | undefined>()
  const differences: object[] = []
  for (let number = 0; number < MUTANTS; number++) {
    const mutant = nextMutant(number)
    const { verdict, reason } = await verdictOf(mutant)
    counts[verdict] += 1
    if (verdict === 'invalid_client') reasons.add(reason)
    const judged = await judge(mutant)
    if (judged !== verdict) differences.push({ number, judged, verdict, reason, ...mutant })
  }
  expect(differences).toEqual([])
  expect(counts.accepted).toBeGreaterThan(MUTANTS / 10)
  expect(counts.invalid_request).toBeGreaterThan(MUTANTS / 50)
  expect(counts.invalid_client).toBeGreaterThan(MUTANTS / 10)
  expect([...reasons].sort()).toEqual([...ASSERTION_REFUSALS, 'unknown_client', 'wrong_authentication_method'].sort())
})
