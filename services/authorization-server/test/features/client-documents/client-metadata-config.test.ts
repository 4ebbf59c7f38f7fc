import { describe, expect, test } from '@jest/globals'
import { ConfigurationError } from '@valetkey/service-kit'
import { readConfig } from '../../../src/config.js'

const REQUIRED = {
  ISSUER: 'https://auth.example',
  RESOURCE_URL: 'https://files.example',
  DATABASE_URL: 'postgres://auth:x@db:5432/auth',
  REDIS_URL: 'redis://cache:6379',
  COOKIE_KEYS: 'k'.repeat(32)
}

const read = (settings: Record<string, string>) => readConfig({ ...REQUIRED, ...settings }).clientMetadata

function problemsOf(settings: Record<string, string>): readonly string[] {
  try {
    read(settings)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
}

describe('settings of clients that no operator registered', () => {
  test('lists of hosts, subdomains and URLs, separated by commas or spaces', () => {
    const allow = 'vscode.dev, *.app.example\thttps://claude.ai/oauth/claude-code-client-metadata'
    expect(read({ CLIENT_ID_METADATA: 'listed', CLIENT_ID_METADATA_ALLOW: allow }).policy).toEqual({
      mode: 'listed',
      allow: [
        { kind: 'host', host: 'vscode.dev' },
        { kind: 'subdomains', host: 'app.example' },
        { kind: 'url', url: 'https://claude.ai/oauth/claude-code-client-metadata' }
      ],
      deny: [],
      allowsLoopback: false
    })
  })

  test('listed without a list, and items that cannot be read: one line each', () => {
    expect(problemsOf({ CLIENT_ID_METADATA: 'listed' })).toEqual([
      'CLIENT_ID_METADATA_ALLOW: is missing: CLIENT_ID_METADATA is listed, and no client would be accepted'
    ])
    expect(
      problemsOf({ CLIENT_ID_METADATA: 'open', CLIENT_ID_METADATA_DENY: 'Evil.example http://a.example/x' })
    ).toEqual([
      'CLIENT_ID_METADATA_DENY: has "Evil.example", which is no host in lower case, no *.host and no https URL',
      'CLIENT_ID_METADATA_DENY: has the URL "http://a.example/x", which must begin with https://'
    ])
  })

  test('the loopback interface is allowed only if the issuer is on it', () => {
    const settings = { CLIENT_ID_METADATA: 'open', CLIENT_ID_METADATA_ALLOW_LOOPBACK: 'true' }
    expect(problemsOf(settings)).toEqual([
      expect.stringMatching(/^CLIENT_ID_METADATA_ALLOW_LOOPBACK: is true, but ISSUER/)
    ])
    expect(problemsOf({ ...settings, ISSUER: 'http://localhost:4000' })).toEqual([])
  })

  test.each([
    ['CLIENT_ID_METADATA', 'on'],
    ['CLIENT_ID_METADATA_MAX_PER_MINUTE', '0'],
    ['CLIENT_ID_METADATA_ALLOW_LOOPBACK', 'yes'],
    ['DISCOVERED_REFRESH_TOKEN_MAX_TTL', '0']
  ])('%s=%s is refused', (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name}: `))])
  })
})
