import {
  type BindingMismatch,
  type Client,
  CODE_ALREADY_USED,
  INVALID_GRANT,
  OAuthError
} from '@valetkey/oauth-protocol'

export function alreadyUsed(mismatch: BindingMismatch | undefined, client: Client, grantId: string): OAuthError {
  return new OAuthError('invalid_grant', CODE_ALREADY_USED, {
    reason: mismatch === undefined ? 'code_used' : `code_used_and_wrong_${mismatch}`,
    clientId: client.clientId,
    grantId
  })
}

export function wrongBinding(mismatch: BindingMismatch, client: Client): OAuthError {
  if (mismatch !== 'resource') return invalidGrant(`wrong_${mismatch}`, client)
  return new OAuthError('invalid_target', 'The code was issued for another resource.', { clientId: client.clientId })
}

export function invalidGrant(reason: string, client: Client): OAuthError {
  return new OAuthError('invalid_grant', INVALID_GRANT, { reason, clientId: client.clientId })
}
