import * as openid from 'openid-client'
import { type ClientLibrary, endpointsOf, type Registration, type Setup } from './client-library.js'

export const withOpenidClient: ClientLibrary = {
  async createApp(registration, setup) {
    const { redirectUri, scope } = registration
    const configuration = await configurationOf(registration, setup)
    const state = openid.randomState()
    const codeVerifier = openid.randomPKCECodeVerifier()

    const toTokens = (answer: openid.TokenEndpointResponse) => ({
      accessToken: answer.access_token,
      refreshToken: answer.refresh_token ?? '',
      scope: answer.scope ?? ''
    })

    return {
      async begin() {
        const challenge = {
          code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256'
        }
        const basis = { redirect_uri: redirectUri, scope, state }
        const parameters = { ...basis, ...(setup.pkce && challenge) }
        return setup.pushes
          ? openid.buildAuthorizationUrlWithPAR(configuration, parameters)
          : openid.buildAuthorizationUrl(configuration, parameters)
      },
      async finish(callback) {
        const checks = { expectedState: state, ...(setup.pkce && { pkceCodeVerifier: codeVerifier }) }
        return toTokens(await openid.authorizationCodeGrant(configuration, callback, checks))
      },
      async refresh(refreshToken) {
        return toTokens(await openid.refreshTokenGrant(configuration, refreshToken))
      },
      async revokeAccessToken({ accessToken }) {
        await openid.tokenRevocation(configuration, accessToken, { token_type_hint: 'access_token' })
      }
    }
  },

  refusalOf(error) {
    if (error instanceof openid.AuthorizationResponseError || error instanceof openid.ResponseBodyError) {
      return { error: error.error, description: error.error_description ?? undefined }
    }
    throw error
  }
}

async function configurationOf(registration: Registration, setup: Setup): Promise<openid.Configuration> {
  const { issuer, clientId, clientSecret } = registration
  const authentication =
    setup.authentication === 'basic' ? openid.ClientSecretBasic(clientSecret) : openid.ClientSecretPost(clientSecret)
  if (setup.discovery) {
    return openid.discovery(new URL(issuer), clientId, undefined, authentication, {
      algorithm: 'oauth2',
      execute: [openid.allowInsecureRequests]
    })
  }
  const { authorize, token, revoke } = endpointsOf(issuer)
  const server = { issuer, authorization_endpoint: authorize, token_endpoint: token, revocation_endpoint: revoke }
  const configuration = new openid.Configuration(server, clientId, undefined, authentication)
  openid.allowInsecureRequests(configuration)
  return configuration
}
