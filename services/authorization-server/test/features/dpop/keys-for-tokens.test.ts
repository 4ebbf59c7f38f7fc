import { describe, expect, test } from '@jest/globals'
import type { Client } from '@valetkey/oauth-protocol'
import { keysForTokens } from '../../../src/features/dpop/keys-for-tokens.js'
import type { ApiDpop } from '../../../src/storage/postgres/resource-servers.js'

const KEY = '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I'
const clientOf = (type: Client['type']) => ({ clientId: 'app', type }) as Client

describe('keys of new tokens (RFC 9449 §5)', () => {
  test.each<{ type: Client['type']; api: ApiDpop | undefined; keys: object }>([
    { type: 'public', api: undefined, keys: { accessToken: undefined, refreshToken: KEY } },
    { type: 'public', api: 'allowed', keys: { accessToken: KEY, refreshToken: KEY } },
    { type: 'public', api: 'required', keys: { accessToken: KEY, refreshToken: KEY } },
    { type: 'confidential', api: undefined, keys: { accessToken: undefined, refreshToken: undefined } },
    { type: 'confidential', api: 'allowed', keys: { accessToken: KEY, refreshToken: undefined } },
    { type: 'confidential', api: 'required', keys: { accessToken: KEY, refreshToken: undefined } }
  ])('with a proof: a $type client, an API that is $api', ({ type, api, keys }) => {
    for (const wasBound of [false, true]) {
      expect(keysForTokens({ client: clientOf(type), audience: 'a', dpopJkt: KEY, wasBound }, api)).toStrictEqual(keys)
    }
  })

  test.each<{ api: ApiDpop | undefined; wasBound: boolean; error: string | undefined }>([
    { api: undefined, wasBound: false, error: undefined },
    { api: undefined, wasBound: true, error: undefined },
    { api: 'allowed', wasBound: false, error: undefined },
    { api: 'allowed', wasBound: true, error: 'invalid_dpop_proof' },
    { api: 'required', wasBound: false, error: 'invalid_request' },
    { api: 'required', wasBound: true, error: 'invalid_request' }
  ])('without a proof: an API that is $api, a grant that was bound: $wasBound', ({ api, wasBound, error }) => {
    const issue = { client: clientOf('confidential'), audience: 'a', dpopJkt: undefined, wasBound }
    const code = codeOf(() => keysForTokens(issue, api))
    expect(code).toBe(error)
  })
})

/** The code of the error; undefined if the tokens are bearer tokens. */
function codeOf(run: () => unknown): unknown {
  try {
    expect(run()).toBeUndefined()
    return undefined
  } catch (error) {
    return (error as { code?: string }).code
  }
}
