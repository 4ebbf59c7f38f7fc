// A registered app: its authorization request, and its requests to the token and revocation endpoints.

import { makeProof } from './dpop-proof.mjs'

/** @import { ProofKey } from './dpop-proof.mjs' */

const LIMIT_MS = 15_000

/**
 * @typedef {object} Registration read at each request, so that a secret may be replaced
 * @property {string} issuer
 * @property {string} clientId
 * @property {string | undefined} [clientSecret] none for a public client
 * @property {string} redirectUri
 * @property {string} [scope]
 * @property {ProofKey | undefined} [proofKey] each token request has a proof of it (RFC 9449)
 */

/** @typedef {{ status: number, text: string }} Answer */

/** @param {Registration} registration */
export function createApp(registration) {
  /**
   * Sends a form with the credentials of the app.
   * @param {string} path
   * @param {Record<string, string>} form
   * @param {string} [at] another address of the authorization server
   * @returns {Promise<Answer>}
   */
  async function post(path, form, at = registration.issuer) {
    const { issuer, clientId, clientSecret, proofKey } = registration
    const credentials = { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
    const body = new URLSearchParams({ ...form, ...credentials })
    const method = 'POST'
    /** @type {Record<string, string>} */
    const headers =
      proofKey === undefined ? {} : { dpop: makeProof({ key: proofKey, method, url: `${issuer}${path}` }) }
    const response = await fetch(`${at}${path}`, { method, headers, body, signal: AbortSignal.timeout(LIMIT_MS) })
    return { status: response.status, text: await response.text() }
  }

  return {
    post,

    /**
     * The address of an authorization request.
     * @param {Record<string, string>} [more] parameters that are added or replaced
     */
    authorizeUrl(more = {}) {
      const { issuer, clientId, redirectUri, scope } = registration
      const own = { response_type: 'code', client_id: clientId, redirect_uri: redirectUri, ...(scope && { scope }) }
      return `${issuer}/oauth/authorize?${new URLSearchParams({ ...own, ...more })}`
    },

    /**
     * @param {string} code
     * @param {Record<string, string>} [more] parameters such as `code_verifier`
     */
    exchange: (code, more = {}) => post('/token', { ...exchangeForm(code, registration.redirectUri), ...more }),

    /** @param {string} refreshToken */
    refresh: (refreshToken) => post('/token', refreshForm(refreshToken)),

    /**
     * @param {string} token
     * @param {string} [at]
     */
    revoke: (token, at) => post('/oauth/revoke', { token }, at)
  }
}

/**
 * The form for the exchange of a code.
 * @param {string} code
 * @param {string} redirectUri
 */
export const exchangeForm = (code, redirectUri) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: redirectUri
})

/** @param {string} refreshToken */
export const refreshForm = (refreshToken) => ({ grant_type: 'refresh_token', refresh_token: refreshToken })

/**
 * @param {Answer} answer of the token endpoint
 * @returns {{ access_token: string, refresh_token: string }} the tokens
 * @throws if there are none
 */
export function tokensIn({ status, text }) {
  if (status !== 200) throw new Error(`no tokens: ${status} ${text.slice(0, 500)}`)
  return JSON.parse(text)
}
