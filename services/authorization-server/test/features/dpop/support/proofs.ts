import { randomUUID } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { type Credentials, ISSUER, REDIRECT_URI, type TestServer } from '../../../support/authorization-server.js'
import type { Browser } from '../../../support/browser.js'
import { PKCE, VERIFIER } from '../../../support/codes.js'
import { bodyCredentials, obtainCode, post } from '../../../support/flow.js'

type ProofChange = { header?: Record<string, unknown>; payload?: Record<string, unknown> }

/** A key of a client, and proofs of its possession for `POST /token`. */
export type Prover = { jkt: string; jwk: JWK; prove: (change?: ProofChange) => Promise<string> }

export async function createProver(algorithm = 'ES256'): Promise<Prover> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return {
    jwk,
    jkt: await calculateJwkThumbprint(jwk),
    prove: ({ header, payload } = {}) => {
      const claims = { jti: randomUUID(), htm: 'POST', htu: `${ISSUER}/token`, iat: Math.floor(Date.now() / 1_000) }
      return new SignJWT({ ...claims, ...payload })
        .setProtectedHeader({ alg: algorithm, typ: 'dpop+jwt', jwk, ...header })
        .sign(privateKey)
    }
  }
}

/** Sends a request to the token endpoint with a proof of this key, or with this proof. */
export async function postWithProof(
  server: TestServer,
  form: Record<string, string>,
  by: Prover | string | undefined
): Promise<LightMyRequestResponse> {
  const proof = typeof by === 'object' ? await by.prove() : by
  return post(server, '/token', form, proof === undefined ? {} : { dpop: proof })
}

export const exchangeForm = (client: Credentials, code: string, change: Record<string, string> = {}) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: REDIRECT_URI,
  code_verifier: VERIFIER,
  ...bodyCredentials(client),
  ...change
})

export const refreshForm = (client: Credentials, refreshToken: string) => ({
  grant_type: 'refresh_token',
  refresh_token: refreshToken,
  ...bodyCredentials(client)
})

/** A code of an authorization request with PKCE. @param dpopJkt binds the code */
export async function codeOf(
  server: TestServer,
  client: Credentials,
  browser: Browser,
  dpopJkt?: string
): Promise<string> {
  return obtainCode(server, client, { change: { ...PKCE, dpop_jkt: dpopJkt }, browser })
}
