import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto'

/** Flags of authenticator data (WebAuthn Level 3 §6.1). */
export const FLAGS = { userPresent: 1, userVerified: 4, backupEligible: 8, backedUp: 16, attested: 64 } as const

/** What a test forges. */
export type Forgery = {
  challenge?: string
  origin?: string
  rpId?: string
  type?: string
  flags?: number
  counter?: number
  userHandle?: string | undefined
  /** Bytes of the attestation object before the authenticator data. */
  attestation?: Buffer
}

type Options = { challenge: string; rp?: { id: string }; rpId?: string; user?: { id: string } }

export type SoftwareAuthenticator = ReturnType<typeof createSoftwareAuthenticator>

const PRESENT = FLAGS.userPresent | FLAGS.userVerified

/** An authenticator with one ES256 key. It responds to the options of a page as a browser at `origin` would. */
export function createSoftwareAuthenticator(origin = 'http://localhost:4000') {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(32)
  let counter = 0
  let userHandle: string | undefined

  const clientData = (type: string, challenge: string, forged: Forgery) =>
    Buffer.from(
      JSON.stringify({
        type: forged.type ?? type,
        challenge: forged.challenge ?? challenge,
        origin: forged.origin ?? origin,
        crossOrigin: false
      })
    )

  const authenticatorData = (rpId: string, flags: number, forged: Forgery, attested = Buffer.alloc(0)) => {
    const head = Buffer.alloc(5)
    head.writeUInt8(forged.flags ?? flags)
    counter += 1
    head.writeUInt32BE(forged.counter ?? counter, 1)
    return Buffer.concat([sha256(forged.rpId ?? rpId), head, attested])
  }

  return {
    id: id.toString('base64url'),

    /** The response to `navigator.credentials.create`. */
    create(options: Options, forged: Forgery = {}): string {
      userHandle = options.user?.id
      const { x, y } = publicKey.export({ format: 'jwk' })
      const key = Buffer.concat([
        Buffer.from('a5010203262001215820', 'hex'),
        Buffer.from(x ?? '', 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y ?? '', 'base64url')
      ])
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, key])
      const data = authenticatorData(options.rp?.id ?? '', PRESENT | FLAGS.attested, forged, attested)
      const attestation = forged.attestation ?? attestationOf('none', EMPTY)
      const length = Buffer.from([0x58, data.length])
      return respond(id, {
        clientDataJSON: clientData('webauthn.create', options.challenge, forged).toString('base64url'),
        attestationObject: Buffer.concat([attestation, length, data]).toString('base64url'),
        transports: ['internal', 'unknown']
      })
    },

    /** The response to `navigator.credentials.get`. */
    get(options: Options, forged: Forgery = {}): string {
      const data = authenticatorData(options.rpId ?? '', PRESENT, forged)
      const client = clientData('webauthn.get', options.challenge, forged)
      const signature = createSign('sha256')
        .update(Buffer.concat([data, sha256(client)]))
        .sign(privateKey)
      return respond(id, {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: 'userHandle' in forged ? forged.userHandle : userHandle
      })
    }
  }
}

/** The start of an attestation object: a CBOR map of `fmt`, `attStmt` and `authData`, whose value is missing. */
export function attestationOf(format: string, statement: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0xa3]), text('fmt'), text(format), text('attStmt'), statement, text('authData')])
}

/** Attestation statements in CBOR: none, and `{alg: -7, sig: h'', x5c: [h'00']}`. */
export const EMPTY = Buffer.from('a0', 'hex')
export const WITH_CERTIFICATE = Buffer.from('a363616c6726637369674063783563814100', 'hex')

const text = (value: string) => Buffer.concat([Buffer.from([0x60 + value.length]), Buffer.from(value)])
const sha256 = (value: string | Buffer) => createHash('sha256').update(value).digest()

function respond(id: Buffer, response: object): string {
  const passkeyId = id.toString('base64url')
  return JSON.stringify({ id: passkeyId, rawId: passkeyId, type: 'public-key', response, clientExtensionResults: {} })
}
