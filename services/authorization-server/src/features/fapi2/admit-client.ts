import { OAuthError } from '@valetkey/oauth-protocol'
import type { ClientAdmission } from '../../platform/client-authentication/authenticate-client.js'

type Rules = { profile: 'none' | 'fapi2'; dpop: 'off' | 'allowed' | 'required' }

/**
 * Refuses authenticated clients that this server must not serve. Undefined if it serves all: a request costs nothing then.
 * @throws {OAuthError} from the returned function
 */
export function clientAdmission({ profile, dpop }: Rules): ClientAdmission | undefined {
  if (profile === 'none' && dpop !== 'off') return undefined
  return ({ clientId, profile: own }) => {
    if (profile !== 'none' && own !== profile) {
      throw new OAuthError('unauthorized_client', `The server serves only clients under the profile ${profile}.`, {
        clientId
      })
    }
    // Such a client never gets a bearer token.
    if (own === 'fapi2' && dpop === 'off') {
      throw new OAuthError('unauthorized_client', `The profile ${own} of the client needs DPoP, which is off here.`, {
        clientId
      })
    }
  }
}
