import { createProofNonces, DPOP_ALGORITHMS, rememberKeys } from '@valetkey/oauth-protocol/signed'
import type { Feature, FeatureParts } from '../../feature.js'
import type { SenderConstraint } from '../../platform/sender-constraint.js'
import { createClientStore } from '../../storage/postgres/clients.js'
import { createResourceServerStore } from '../../storage/postgres/resource-servers.js'
import { evaluateDpop } from './evaluate-dpop.js'
import { keysForTokens } from './keys-for-tokens.js'
import { type ProofDeps, verifyProof } from './verify-proof.js'

/** Codes and tokens that are bound to a key of the client (DPoP, RFC 9449). */
export const dpop: Feature = {
  start: (parts) =>
    parts.config.dpop === 'off'
      ? {}
      : {
          senderConstraint: createSenderConstraint(parts),
          serverMetadata: { dpop_signing_alg_values_supported: DPOP_ALGORITHMS }
        },
  examineRecords: {
    check: 'DPOP',
    async examine(config, database) {
      const apis = await createResourceServerStore(database).listApis()
      const clients = await createClientStore(database).list()
      // The document of a discovered client decides, not the operator.
      const bound = clients.filter(({ dpopBound, isDiscovered }) => dpopBound === true && isDiscovered !== true)
      return [
        evaluateDpop(
          config,
          apis,
          bound.map(({ clientId }) => clientId)
        )
      ]
    }
  }
}

function createSenderConstraint({ config, stores, platform }: FeatureParts): SenderConstraint {
  const { resourceServers } = stores.registry
  const { issuer, cookieKeys } = config
  const proofs: ProofDeps = {
    issuer,
    isRequired: config.dpop === 'required',
    keys: rememberKeys(),
    nonces:
      config.dpopNonces === 'off'
        ? undefined
        : createProofNonces({ keys: cookieKeys, role: 'authorization server', server: issuer }),
    now: platform.now
  }
  return {
    verify: (request, reply, path, client) => verifyProof({ request, reply, path, client }, proofs),
    async keysFor(issue) {
      const apis = await resourceServers.listApis()
      return keysForTokens(issue, apis.find(({ audience }) => audience === issue.audience)?.dpop)
    }
  }
}
