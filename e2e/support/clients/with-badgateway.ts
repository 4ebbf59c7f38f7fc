import { randomUUID } from 'node:crypto'
import {
  generateCodeVerifier,
  OAuth2Client,
  OAuth2Error,
  OAuth2HttpError,
  type OAuth2Token
} from '@badgateway/oauth2-client'
import { type ClientLibrary, endpointsOf, type Tokens } from './client-library.js'

/** With metadata, it uses the first listed authentication method. */
export const withBadgateway: ClientLibrary = {
  async createApp({ issuer, clientId, clientSecret, redirectUri, scope }, setup) {
    const { authorize, token, revoke } = endpointsOf(issuer)
    const client = new OAuth2Client({
      clientId,
      clientSecret,
      ...(setup.discovery
        ? { server: issuer }
        : { authorizationEndpoint: authorize, tokenEndpoint: token, revocationEndpoint: revoke }),
      ...(setup.authentication === 'body' && { authenticationMethod: 'client_secret_post' as const })
    })
    const state = randomUUID()
    const pkce = setup.pkce ? { codeVerifier: await generateCodeVerifier() } : {}

    const toTokens = ({ accessToken, refreshToken, scope: granted }: OAuth2Token): Tokens => ({
      accessToken,
      refreshToken: refreshToken ?? '',
      scope: granted?.join(' ') ?? ''
    })
    const restore = (tokens: Partial<Tokens>): OAuth2Token => ({
      accessToken: tokens.accessToken ?? '',
      refreshToken: tokens.refreshToken ?? null,
      expiresAt: null
    })

    return {
      async begin() {
        const scopes = scope.split(' ')
        return new URL(await client.authorizationCode.getAuthorizeUri({ redirectUri, state, scope: scopes, ...pkce }))
      },
      finish: async (callback) =>
        toTokens(await client.authorizationCode.getTokenFromCodeRedirect(callback, { redirectUri, state, ...pkce })),
      refresh: async (refreshToken) => toTokens(await client.refreshToken(restore({ refreshToken }))),
      revokeAccessToken: (tokens) => client.revoke(restore(tokens))
    }
  },

  refusalOf(error) {
    if (!(error instanceof OAuth2Error)) throw error
    const description = error instanceof OAuth2HttpError ? error.parsedBody.error_description : error.message
    return { error: error.oauth2Code, description }
  }
}
