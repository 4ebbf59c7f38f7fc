import type { OAuthErrorCode } from '@valetkey/oauth-protocol'

/** What a developer reads about an error code. */
export type ErrorEntry = {
  code: OAuthErrorCode
  meaning: string
  causes: readonly string[]
  remedies: readonly string[]
  source: string
}

const ENTRIES: Readonly<Record<OAuthErrorCode, Omit<ErrorEntry, 'code'>>> = {
  invalid_request: {
    meaning: 'The request lacks a parameter, has one twice, has one that cannot be read, or came in a wrong form.',
    causes: [
      'A required parameter is missing or empty.',
      'The body is JSON: the token endpoint takes application/x-www-form-urlencoded only.',
      'The client authenticated in two ways at once.',
      'code_challenge came without code_challenge_method=S256.'
    ],
    remedies: [
      'Read error_description: it names the parameter.',
      'Send each parameter once, and the secret in one place.'
    ],
    source: 'RFC 6749 §4.1.2.1, §5.2; RFC 7636 §4.4.1'
  },
  invalid_client: {
    meaning: 'The client could not be authenticated.',
    causes: [
      'client_id and client_secret do not belong together.',
      'The client was disabled, or its secret was replaced.',
      'A public client sent a secret, or a confidential one sent none.'
    ],
    remedies: [
      'Check the secret: it is shown once, when it is made.',
      'Ask the operator of this service, and name the request id of the answer.'
    ],
    source: 'RFC 6749 §5.2'
  },
  invalid_grant: {
    meaning: 'The authorization code or refresh token cannot be used, at least not by this request.',
    causes: [
      'The code is older than its lifetime (less than 30 seconds), or was used before.',
      'redirect_uri differs from the one of the authorization request.',
      'code_verifier does not fit code_challenge, or one of the two is missing.',
      'The refresh token was replaced by a newer one, has expired, or was revoked.'
    ],
    remedies: [
      'Exchange the code at once, exactly once, with the same redirect_uri.',
      'Store each new refresh token before you use it, and let one process refresh.',
      'Otherwise send the user through /oauth/authorize again.',
      'The exact reason is in the audit log, under the request id of the answer.'
    ],
    source: 'RFC 6749 §5.2; RFC 7636 §4.6'
  },
  unauthorized_client: {
    meaning: 'This client may not use this grant type.',
    causes: ['The client is registered without refresh tokens and sent grant_type=refresh_token.'],
    remedies: ['Ask the operator to register the client for refresh tokens.'],
    source: 'RFC 6749 §5.2'
  },
  unsupported_grant_type: {
    meaning: 'The token endpoint knows authorization_code and refresh_token, and nothing else.',
    causes: ['grant_type names another grant, such as client_credentials or password.'],
    remedies: ['Use the authorization code flow.'],
    source: 'RFC 6749 §5.2'
  },
  unsupported_response_type: {
    meaning: 'The authorization endpoint knows response_type=code, and nothing else.',
    causes: ['response_type is token, id_token or a combination.'],
    remedies: ['Send response_type=code. This service does not sign people in to apps: there is no OpenID Connect.'],
    source: 'RFC 6749 §4.1.2.1'
  },
  invalid_scope: {
    meaning: 'The scope is missing, unknown, malformed, not allowed for this client, or wider than what was granted.',
    causes: [
      'scope was left out: there is no default.',
      'A name is misspelled, or the client is not registered for it.',
      'Names are not separated by exactly one blank.',
      'A refresh asked for more than the user had allowed.'
    ],
    remedies: ['Compare with the scopes of the registration.', 'Ask the user anew for a wider scope.'],
    source: 'RFC 6749 §3.3, §4.1.2.1, §5.2, §6'
  },
  invalid_target: {
    meaning: 'The resource is not one that this service issues tokens for, or not the one the grant was made for.',
    causes: ['resource is not exactly a registered resource identifier.'],
    remedies: ['Leave resource out, or send the identifier as the resource server’s metadata gives it.'],
    source: 'RFC 8707 §2'
  },
  access_denied: {
    meaning: 'The user said no.',
    causes: ['Deny was chosen on the consent page, or the account or app was disabled in between.'],
    remedies: ['Respect it. Offer to try again only when the user asks for it.'],
    source: 'RFC 6749 §4.1.2.1'
  },
  server_error: {
    meaning: 'Something failed in this service that should not have.',
    causes: ['A fault of ours.'],
    remedies: ['Tell the operator the request id of the answer.'],
    source: 'RFC 6749 §4.1.2.1'
  },
  temporarily_unavailable: {
    meaning: 'The service cannot answer right now, or there were too many failed attempts from this address.',
    causes: [
      'With status 503: a database or cache is not reachable.',
      'With status 429: too many failures in a short time.'
    ],
    remedies: ['Wait as long as Retry-After says and send the same request again. Nothing was used up.'],
    source: 'RFC 6749 §4.1.2.1; RFC 6585 §4'
  }
}

export const ERROR_CATALOGUE: readonly ErrorEntry[] = Object.entries(ENTRIES).map(([code, entry]) => ({
  code: code as OAuthErrorCode,
  ...entry
}))
