import { expect, test } from '@jest/globals'
import { evaluateClientMetadata } from '../../../src/features/client-documents/evaluate-client-metadata.js'

const settings = (mode: 'off' | 'listed' | 'open') => ({
  policy: { mode, allow: [], deny: [], allowsLoopback: false },
  maxPerMinute: 120,
  refreshTokenMaxTtl: 1
})
const READ = { name: 'notes.read', isDiscoverable: true }
const WRITE = { name: 'notes.write', isDiscoverable: false }

test.each([
  { mode: 'off', scopes: [], severity: 'ok', says: /is off/ },
  { mode: 'open', scopes: [READ, WRITE], severity: 'ok', says: /is open; .* request notes\.read$/ },
  { mode: 'open', scopes: [WRITE], severity: 'warning', says: /is open, but no scope is discoverable/ },
  { mode: 'listed', scopes: [], severity: 'warning', says: /is listed, but no scope is discoverable/ }
] as const)(
  'doctor: CLIENT_ID_METADATA=$mode with the scopes $scopes is $severity',
  ({ mode, scopes, severity, says }) => {
    const finding = evaluateClientMetadata(settings(mode), scopes)
    expect(finding).toMatchObject({ check: 'CLIENT_ID_METADATA', severity })
    expect(JSON.stringify(finding)).toMatch(new RegExp(says.source.replace('$', '"')))
  }
)
