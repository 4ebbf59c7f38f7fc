import { randomUUID } from 'node:crypto'
import { type Client, OAuthError } from '@valetkey/oauth-protocol'
import {
  ASSERTION_ALGORITHMS,
  type AssertionRefusal,
  type ClientAssertion,
  candidateKeys,
  checkClientAssertion,
  isSignedBy,
  type PublicKey,
  readClientAssertion
} from '@valetkey/oauth-protocol/signed'
import type { AssertionAuthentication } from '../../platform/client-authentication/authenticate-client.js'
import type { Usage } from '../../platform/usage.js'
import type { ClientStore } from '../../storage/postgres/clients.js'
import type { ClientAssertionStore } from './client-assertion-store.js'
import { clientKeyName } from './client-key-store.js'
import type { KeyFinder } from './find-keys.js'

export type AssertionDeps = {
  clients: { findWithSecrets: (clientId: string, now: Date) => ReturnType<ClientStore['findWithSecrets']> }
  keys: KeyFinder
  assertions: ClientAssertionStore
  /** Time of the last use of each key. @property note by `clientKeyName` */
  usage: Pick<Usage, 'note'>
  issuer: string
  /** Is called for an assertion with the token endpoint as audience, which is accepted from clients with a document. */
  onOtherAudience: (clientId: string) => void
  now: () => Date
}

/** One text for every refusal: which check failed is in the audit record. Many libraries can leave out `jti`. */
const DESCRIPTION =
  'Client authentication failed. The assertion needs iss, sub, aud (the issuer), exp and a jti that was not used before.'

/**
 * Authenticates clients by `private_key_jwt` (RFC 7523 §2.2, §3; RFC 7521 §4.2). The `jti` is used up last, or strangers could use up
 * those of a client.
 */
export function createAssertionAuthentication(deps: AssertionDeps): AssertionAuthentication {
  const { clients, keys, assertions, usage, issuer, onOtherAudience, now } = deps
  const tokenEndpoint = `${issuer}/token`
  return {
    algorithms: ASSERTION_ALGORITHMS,

    async authenticate(form, authorization): Promise<Client> {
      const read = readClientAssertion(form, authorization)
      if (read.kind === 'unreadable') throw new OAuthError('invalid_request', read.description)
      if (read.kind === 'refused') throw refusal(read.reason)
      const { assertion } = read
      const { clientId } = assertion
      const found = await clients.findWithSecrets(clientId, now())
      const checked = checkClientAssertion(assertion, found?.client, { issuer, tokenEndpoint, now: now() })
      if (found === undefined || checked.kind === 'refused')
        throw refusal(checked.kind === 'refused' ? checked.reason : 'unknown_client', clientId)
      const candidates = candidateKeys(assertion, await keys.find(found.client, assertion.keyId))
      if (candidates.length === 0) throw refusal('assertion_unknown_key', clientId)
      const key = await findSigner(assertion, candidates)
      if (key === undefined) throw refusal('assertion_signature', clientId)
      const isFirstUse = await assertions.use(clientId, checked.jti, randomUUID(), checked.usableForMs)
      if (!isFirstUse) throw refusal('assertion_used', clientId)
      if (checked.audience === 'token_endpoint') onOtherAudience(clientId)
      if (key.kid !== undefined) usage.note(clientKeyName(clientId, key.kid))
      return found.client
    }
  }
}

async function findSigner({ jws }: ClientAssertion, candidates: readonly PublicKey[]): Promise<PublicKey | undefined> {
  for (const key of candidates) if (await isSignedBy(jws, key, ASSERTION_ALGORITHMS)) return key
  return undefined
}

function refusal(reason: AssertionRefusal, clientId?: string): OAuthError {
  return new OAuthError('invalid_client', DESCRIPTION, { reason, ...(clientId !== undefined && { clientId }) })
}
