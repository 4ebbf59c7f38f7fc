// Creates a certificate authority and its certificate for 127.0.0.1 with openssl.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/**
 * @param {string} directory
 * @param {object} [options]
 * @param {string} [options.commonName] of the authority
 * @param {string} [options.names] in the server's certificate, as `subjectAltName` of openssl
 * @returns paths of the authority's certificate, and of the server's certificate and key
 */
export function makeCertificates(
  directory,
  { commonName = 'An authority of these tests', names = 'IP:127.0.0.1,DNS:localhost' } = {}
) {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  /** @param {string} name */
  const file = (name) => path.join(directory, name)
  writeFileSync(file('names'), `subjectAltName=${names}\n`)
  openssl(
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.pem'),
    '-days',
    '2',
    '-subj',
    `/CN=${commonName}`
  )
  openssl('req', ...KEY, '-keyout', file('server.key'), '-out', file('server.csr'), '-subj', '/CN=127.0.0.1')
  const signing = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial', '-extfile', file('names')]
  openssl('x509', '-req', '-in', file('server.csr'), ...signing, '-out', file('server.pem'), '-days', '2')
  return { ca: file('ca.pem'), certificate: file('server.pem'), key: file('server.key') }
}

/** @param {...string} args */
function openssl(...args) {
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8', timeout: 120_000 })
  if (status !== 0) throw new Error(`openssl ${args[0]} ended with ${status}: ${stderr}`)
}
