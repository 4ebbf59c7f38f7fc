import { randomUUID } from 'node:crypto'
import { type AccessToken, AuthorizationCode } from 'simple-oauth2'
import { type ClientLibrary, endpointsOf, type Tokens } from './client-library.js'

/** The library has neither metadata nor PKCE, and does not validate the authorization response. */
export const withSimpleOauth2: ClientLibrary = {
  async createApp({ issuer, clientId, clientSecret, redirectUri, scope }, { authentication }) {
    const { authorize, token, revoke } = endpointsOf(issuer)
    const path = (endpoint: string) => new URL(endpoint).pathname
    const client = new AuthorizationCode({
      client: { id: clientId, secret: clientSecret },
      auth: {
        tokenHost: issuer,
        authorizePath: path(authorize),
        tokenPath: path(token),
        refreshPath: path(token),
        revokePath: path(revoke)
      },
      options: { authorizationMethod: authentication === 'basic' ? 'header' : 'body' }
    })
    const state = randomUUID()

    const toTokens = ({ token: { access_token, refresh_token, scope: granted } }: AccessToken): Tokens => ({
      accessToken: String(access_token),
      refreshToken: String(refresh_token),
      scope: String(granted)
    })
    const restore = (tokens: Partial<Tokens>): AccessToken =>
      client.createToken({ access_token: tokens.accessToken, refresh_token: tokens.refreshToken })

    return {
      begin: async () => new URL(client.authorizeURL({ redirect_uri: redirectUri, scope, state })),
      async finish(callback) {
        if (callback.searchParams.get('state') !== state) throw new Error('another state')
        const code = callback.searchParams.get('code') ?? ''
        return toTokens(await client.getToken({ code, redirect_uri: redirectUri }))
      },
      refresh: async (refreshToken) => toTokens(await restore({ refreshToken }).refresh()),
      revokeAccessToken: (tokens) => restore(tokens).revoke('access_token')
    }
  },

  refusalOf(error) {
    const { data } = error as { data?: { payload?: { error: string; error_description: string } } }
    if (data?.payload === undefined) throw error
    return { error: data.payload.error, description: data.payload.error_description }
  }
}
