import { describe, expect, test } from '@jest/globals'
import { DPOP_ERROR_STATUS } from '../packages/oauth-protocol/src/dpop-challenge.js'
import { OAUTH_ERROR_STATUS } from '../packages/oauth-protocol/src/oauth-error.js'
import { code, files, matches, read, rowsBelow, sorted } from './support/documents.js'

const page = read('docs/clients.md')
// Files are found by base name and pattern, so that a moved file is still found.
const sources = files.filter((file) =>
  /^(services\/authorization-server|packages\/oauth-protocol)\/src\/.+\.ts$/.test(file)
)
const inSources = (pattern: RegExp) => sources.flatMap((file) => matches(read(file), pattern))
const inFiles = (names: readonly string[], pattern: RegExp) =>
  sources
    .filter((file) => names.some((name) => file.endsWith(`/${name}`)))
    .flatMap((file) => matches(read(file), pattern))

/** The rows of a table as `[status, error]`; a row without an error code is left out. */
const pairsBelow = (heading: string) =>
  rowsBelow(page, heading).flatMap(([statuses = '', error]) =>
    code(error).flatMap((name) => statuses.split(', ').map((status) => `${status} ${name}`))
  )

describe('docs/clients.md, the error tables', () => {
  test('on the redirect URI: exactly the codes of the source', () => {
    const named = rowsBelow(page, '### On the redirect URI').flatMap(([error]) => code(error))
    const sent = inSources(/\{ error: '(\w+)', description/g)
    expect(sent.length).toBeGreaterThan(5)
    expect(sorted(named)).toEqual(sorted(sent))
  })

  test('in JSON: exactly the thrown codes, with their status', () => {
    const thrown = sorted(inSources(/new OAuthError\(\s*'(\w+)'/g)) as (keyof typeof OAUTH_ERROR_STATUS)[]
    const usual = thrown.map((name) => `${OAUTH_ERROR_STATUS[name]} ${name}`)
    const named = pairsBelow('### In JSON')
    expect(thrown.length).toBeGreaterThan(5)
    expect(named).toEqual(expect.arrayContaining(usual))
    const statuses = inFiles(['send-oauth-error.ts', 'send-not-found.ts'], /\b(4\d\d)\b/g)
    // The status of an own code can also be one that the edge sends with invalid_request.
    const isUsual = (status: string) => usual.some((pair) => pair.startsWith(status) && pair !== '404 unknown_handover')
    const overridden = sorted(statuses.filter((status) => !isUsual(status)))
    const others = named.filter((pair) => !usual.includes(pair)).map((pair) => pair.slice(0, 3))
    expect(sorted(others)).toEqual(overridden)
  })

  test('from the files API: exactly the codes of RFC 6750 and RFC 9449, with their status', () => {
    const known = Object.entries(DPOP_ERROR_STATUS).map(([name, status]) => `${status} ${name}`)
    expect(sorted(pairsBelow('### From the files API'))).toEqual(sorted(known))
  })
})
