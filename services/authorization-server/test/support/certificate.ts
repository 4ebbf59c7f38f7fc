import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto'

const [INTEGER, BIT_STRING, OCTETS, OID, UTF8, SEQUENCE, SET, TIME] = [2, 3, 4, 6, 12, 0x30, 0x31, 0x17]
const ECDSA_WITH_SHA256 = '2a8648ce3d040302'
const COMMON_NAME = '550403'
const SUBJECT_ALTERNATIVE_NAME = '551d11'
const DAY_MS = 86_400_000

/** A self-signed certificate for these names (RFC 5280), because Node can read certificates but not create them. */
export function makeCertificate(names: readonly string[]): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(SEQUENCE, oid(ECDSA_WITH_SHA256))
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, oid(COMMON_NAME), der(UTF8, Buffer.from('a server of tests')))))
  const alternatives = der(
    SEQUENCE,
    ...names.map((each) => der(0x82, Buffer.from(each))),
    der(0x87, Buffer.from([127, 0, 0, 1]))
  )
  const extension = der(SEQUENCE, oid(SUBJECT_ALTERNATIVE_NAME), der(OCTETS, alternatives))
  const content = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    der(SEQUENCE, time(Date.now() - DAY_MS), time(Date.now() + DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, extension))
  )
  const signature = createSign('sha256').update(content).sign(privateKey)
  const certificate = der(SEQUENCE, content, algorithm, der(BIT_STRING, Buffer.from([0]), signature))
  const lines = certificate.toString('base64').replace(/.{64}/g, '$&\n')
  const cert = `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert }
}

/** Tag, length and value (X.690). */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const value = Buffer.concat(parts)
  const { length } = value
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), value])
}

function oid(hex: string): Buffer {
  return der(OID, Buffer.from(hex, 'hex'))
}

function time(milliseconds: number): Buffer {
  return der(TIME, Buffer.from(`${new Date(milliseconds).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))
}
