import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Answer, APP, NATIVE, OTHER, PUBLIC } from './broken-apps.js'
import { keyOfProof } from './broken-proofs.js'
import type { Has } from './faults.js'

type Grant = {
  clientId: string
  scope: string
  current: string | undefined
  retired: Set<string>
  /** The thumbprint of the key that refresh tokens are bound to. */
  key: string | undefined
}
type CodeRecord = {
  clientId: string
  redirectUri: string
  challenge: string | null
  dpopJkt: string | null
  scope: string
  /** Once the code was used. */
  grant: Grant | undefined
}
export type Grants = {
  codes: Map<string, CodeRecord>
  refreshTokens: Map<string, Grant>
  accessTokens: Set<string>
}

export function createTokenEndpoints({ has, grants, tokenUrl }: { has: Has; grants: Grants; tokenUrl: string }) {
  function error(status: number, code: string): Answer {
    const cache = has('lets errors be cached') ? {} : { 'cache-control': 'no-store' }
    const challenge =
      status === 401 && !has('sends no WWW-Authenticate') ? { 'www-authenticate': 'Basic realm="x"' } : {}
    const type = has('sends errors as text') ? 'text/plain' : 'application/json'
    return { status, headers: { 'content-type': type, ...cache, ...challenge }, body: JSON.stringify({ error: code }) }
  }

  /** @returns the client's id, or the error */
  function authenticate(header: string | undefined, query: URLSearchParams, form: URLSearchParams): string | Answer {
    const [id, secret] = header === undefined ? [] : credentialsOf(header)
    const isTwice = id !== undefined && form.has('client_secret')
    if (isTwice && !has('takes two authentications')) return error(400, 'invalid_request')
    const inQuery = has('takes secrets in the query') ? query : new URLSearchParams()
    const givenId = id ?? form.get('client_id') ?? inQuery.get('client_id')
    const givenSecret = secret ?? form.get('client_secret') ?? inQuery.get('client_secret')
    const client = [APP, NATIVE, OTHER, PUBLIC].find((one) => one.id === givenId)
    if (client === undefined) {
      return has('responds with invalid_grant to unknown clients')
        ? error(400, 'invalid_grant')
        : error(401, 'invalid_client')
    }
    const isRight = client.secret === undefined || client.secret === givenSecret
    const isMissing = givenSecret === null && has('needs no secret')
    const isWrong = givenSecret !== null && has('does not compare secrets')
    return isRight || isMissing || isWrong ? client.id : error(401, 'invalid_client')
  }

  function token({ method = '', headers }: IncomingMessage, query: URLSearchParams, body: URLSearchParams): Answer {
    if (method !== 'POST' && !has('takes GET')) return { status: 405, headers: { allow: 'POST' } }
    const form = method === 'POST' ? body : query
    const clientId = authenticate(headers.authorization, query, form)
    if (typeof clientId !== 'string') return clientId
    const proof = headers.dpop?.toString()
    const key = proof === undefined ? undefined : keyOfProof(proof, tokenUrl, has)
    if (key === false) return error(400, 'invalid_dpop_proof')
    const names = [...form.keys()]
    const isRepeated = new Set(names).size < names.length
    if (isRepeated && !has('takes the first of repeated fields')) return error(400, 'invalid_request')
    switch (form.get('grant_type')) {
      case 'authorization_code':
        return redeem(form, clientId, key)
      case 'refresh_token':
        return refresh(form, clientId, key)
      case 'password':
        return error(400, has('has the password grant') ? 'invalid_grant' : 'unsupported_grant_type')
      case null:
        return error(
          400,
          has('responds with unsupported_grant_type to none') ? 'unsupported_grant_type' : 'invalid_request'
        )
      default:
        return error(
          400,
          has('responds with invalid_request to grant types') ? 'invalid_request' : 'unsupported_grant_type'
        )
    }
  }

  function redeem(form: URLSearchParams, clientId: string, key: string | undefined): Answer {
    const code = grants.codes.get(form.get('code') ?? '')
    if (code === undefined) return error(has('responds with 401 to unknown codes') ? 401 : 400, 'invalid_grant')
    const isSame =
      (code.clientId === clientId || has('does not compare clients of codes')) &&
      (code.redirectUri === form.get('redirect_uri') || has('does not compare redirect URIs of codes')) &&
      fitsChallenge(form.get('code_verifier'), code.challenge) &&
      (code.dpopJkt === null || code.dpopJkt === key || has('ignores dpop_jkt'))
    if (!isSame) return error(400, 'invalid_grant')
    if (code.grant !== undefined && !has('takes codes twice')) {
      if (!has('keeps tokens of used codes')) code.grant.current = undefined
      return error(400, 'invalid_grant')
    }
    code.grant = { clientId, scope: code.scope, current: undefined, retired: new Set(), key }
    return issue(code.grant, code.scope, key)
  }

  function fitsChallenge(verifier: string | null, challenge: string | null): boolean {
    if (challenge === null) return verifier === null || has('takes verifiers without challenge')
    if (verifier === null) return has('needs no verifier')
    const isSame = createHash('sha256').update(verifier).digest('base64url') === challenge
    return isSame || has('does not compare verifiers')
  }

  function refresh(form: URLSearchParams, clientId: string, key: string | undefined): Answer {
    const given = form.get('refresh_token') ?? ''
    const grant = grants.refreshTokens.get(given)
    if (grant === undefined) {
      return has('fails with unknown refresh tokens') ? error(500, 'server_error') : error(400, 'invalid_grant')
    }
    const isOwn = grant.clientId === clientId || has('does not compare clients of refresh tokens')
    if (!isOwn) return error(400, 'invalid_grant')
    if ([PUBLIC.id, NATIVE.id].includes(clientId) && !fitsKey(grant.key, key)) return error(400, 'invalid_grant')
    if (grant.retired.has(given) && !has('takes retired refresh tokens')) {
      if (!has('keeps grants of retired refresh tokens')) grant.current = undefined
      return error(400, 'invalid_grant')
    }
    if (grant.current !== given && !grant.retired.has(given)) return error(400, 'invalid_grant')
    const scope = form.get('scope') ?? grant.scope
    if (scope !== grant.scope && !has('grants any scope')) return error(400, 'invalid_scope')
    return issue(grant, scope, key)
  }

  function fitsKey(bound: string | undefined, given: string | undefined): boolean {
    if (bound === undefined || bound === given) return true
    return has(given === undefined ? 'refreshes without a proof' : 'takes any key for refresh tokens')
  }

  function issue(grant: Grant, scope: string, key: string | undefined): Answer {
    const [accessToken, last] = [randomUUID(), grant.current]
    const refreshToken = last !== undefined && has('does not rotate') ? last : randomUUID()
    if (last !== undefined && last !== refreshToken) grant.retired.add(last)
    grant.current = refreshToken
    grants.refreshTokens.set(refreshToken, grant)
    grants.accessTokens.add(accessToken)
    const expiresIn = has('sends expires_in as text') ? '3600' : 3600
    const type = key === undefined || has('calls bound tokens Bearer') ? 'Bearer' : 'DPoP'
    const members = { access_token: accessToken, token_type: type, expires_in: expiresIn, scope }
    const cache = has('lets tokens be cached') ? {} : { 'cache-control': 'no-store' }
    return {
      status: 200,
      headers: { 'content-type': 'application/json', ...cache },
      body: JSON.stringify({ ...members, refresh_token: refreshToken })
    }
  }

  function revoke(header: string | undefined, form: URLSearchParams): Answer {
    const clientId = authenticate(header, new URLSearchParams(), form)
    if (typeof clientId !== 'string') return clientId
    const grant = grants.refreshTokens.get(form.get('token') ?? '')
    if (grant === undefined) {
      return has('responds with 400 to unknown revoked tokens') ? error(400, 'invalid_request') : { status: 200 }
    }
    if (!has('does not revoke')) grant.current = undefined
    return { status: 200 }
  }

  return { authenticate, token, revoke }
}

function credentialsOf(header: string): [string, string] {
  const [id = '', secret = ''] = Buffer.from(header.replace('Basic ', ''), 'base64').toString().split(':')
  return [decodeURIComponent(id), decodeURIComponent(secret)]
}
