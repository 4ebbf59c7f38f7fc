import { expect, test } from '@jest/globals'
import type { Config } from '../../../src/config.js'
import { evaluateDpop } from '../../../src/features/dpop/evaluate-dpop.js'

const FILES = { audience: 'https://files.example', title: undefined }
const MARKED = { ...FILES, dpop: 'allowed' as const }

type Case = {
  name: string
  dpop: Config['dpop']
  nonces?: Config['dpopNonces']
  ttl?: number
  apis?: (typeof MARKED | typeof FILES)[]
  clients?: string[]
  severity: string
  says: RegExp
}

test.each<Case>([
  { name: 'off', dpop: 'off', severity: 'ok', says: /off/ },
  { name: 'off with a marked API', dpop: 'off', apis: [MARKED], severity: 'warning', says: /files\.example/ },
  { name: 'off with a bound client', dpop: 'off', clients: ['printer'], severity: 'warning', says: /printer/ },
  { name: 'allowed without a marked API', dpop: 'allowed', apis: [FILES], severity: 'warning', says: /no API/ },
  { name: 'allowed', dpop: 'allowed', apis: [MARKED], severity: 'ok', says: /files\.example/ },
  {
    name: 'required with long lifetimes',
    dpop: 'required',
    apis: [MARKED],
    ttl: 3_601,
    severity: 'warning',
    says: /3601/
  },
  {
    name: 'required with long lifetimes and nonces',
    dpop: 'required',
    nonces: 'required',
    apis: [MARKED],
    ttl: 3_601,
    severity: 'ok',
    says: /required with nonces.*3601 seconds, so these APIs must require nonces/
  },
  {
    name: 'allowed with nonces',
    dpop: 'allowed',
    nonces: 'required',
    apis: [MARKED],
    severity: 'ok',
    says: /allowed with nonces; .*files\.example"/
  }
])(
  'doctor: DPOP $name is $severity',
  ({ dpop, nonces = 'off', ttl = 3_600, apis = [FILES], clients = [], severity, says }) => {
    const finding = evaluateDpop({ dpop, dpopNonces: nonces, accessTokenTtl: ttl }, apis, clients)
    expect(finding.severity).toBe(severity)
    expect(JSON.stringify(finding)).toMatch(says)
  }
)
