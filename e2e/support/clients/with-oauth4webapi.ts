import * as oauth from 'oauth4webapi'
import { type ClientLibrary, endpointsOf, type Registration, type Setup } from './client-library.js'

const http = { [oauth.allowInsecureRequests]: true }

export const withOauth4webapi: ClientLibrary = {
  async createApp(registration, setup) {
    const { clientId, redirectUri, scope } = registration
    const server = await serverOf(registration, setup)
    const client = { client_id: clientId }
    const authentication = authenticationOf(registration, setup)
    const state = oauth.generateRandomState()
    const codeVerifier = oauth.generateRandomCodeVerifier()

    const toTokens = (answer: oauth.TokenEndpointResponse) => ({
      accessToken: answer.access_token,
      refreshToken: answer.refresh_token ?? '',
      scope: answer.scope ?? ''
    })

    /** @returns the query of the address */
    async function pushed(parameters: URLSearchParams): Promise<string> {
      const response = await oauth.pushedAuthorizationRequest(server, client, authentication, parameters, http)
      const { request_uri } = await oauth.processPushedAuthorizationResponse(server, client, response)
      return new URLSearchParams({ client_id: clientId, request_uri }).toString()
    }

    return {
      async begin() {
        const address = new URL(server.authorization_endpoint ?? '')
        const challenge = {
          code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256'
        }
        const basis = { response_type: 'code', client_id: clientId, redirect_uri: redirectUri, scope, state }
        const parameters = new URLSearchParams({ ...basis, ...(setup.pkce && challenge) })
        address.search = setup.pushes ? await pushed(parameters) : parameters.toString()
        return address
      },
      async finish(callback) {
        const answer = oauth.validateAuthResponse(server, client, callback, state)
        const verifier = setup.pkce ? codeVerifier : oauth.nopkce
        return toTokens(
          await oauth.processAuthorizationCodeResponse(
            server,
            client,
            await oauth.authorizationCodeGrantRequest(
              server,
              client,
              authentication,
              answer,
              redirectUri,
              verifier,
              http
            )
          )
        )
      },
      async refresh(refreshToken) {
        const response = await oauth.refreshTokenGrantRequest(server, client, authentication, refreshToken, http)
        return toTokens(await oauth.processRefreshTokenResponse(server, client, response))
      },
      async revokeAccessToken({ accessToken }) {
        const response = await oauth.revocationRequest(server, client, authentication, accessToken, http)
        await oauth.processRevocationResponse(response)
      }
    }
  },

  refusalOf(error) {
    if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError) {
      return { error: error.error, description: error.error_description ?? undefined }
    }
    throw error
  }
}

async function serverOf({ issuer }: Registration, { discovery }: Setup): Promise<oauth.AuthorizationServer> {
  const { authorize, token, revoke } = endpointsOf(issuer)
  if (!discovery) {
    return { issuer, authorization_endpoint: authorize, token_endpoint: token, revocation_endpoint: revoke }
  }
  const response = await oauth.discoveryRequest(new URL(issuer), { algorithm: 'oauth2', ...http })
  return oauth.processDiscoveryResponse(new URL(issuer), response)
}

function authenticationOf({ clientSecret }: Registration, { authentication }: Setup): oauth.ClientAuth {
  if (authentication === 'none') return oauth.None()
  return authentication === 'basic' ? oauth.ClientSecretBasic(clientSecret) : oauth.ClientSecretPost(clientSecret)
}
