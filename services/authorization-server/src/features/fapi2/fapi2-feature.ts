import { ALGORITHM_OUTSIDE_FAPI2 } from '@valetkey/oauth-protocol'
import { ASSERTION_ALGORITHMS } from '@valetkey/oauth-protocol/signed'
import type { Feature } from '../../feature.js'
import { createClientStore } from '../../storage/postgres/clients.js'
import { createResourceServerStore } from '../../storage/postgres/resource-servers.js'
import { clientAdmission } from './admit-client.js'
import { evaluateFapi2 } from './evaluate-fapi2.js'

/** Clients, or all of a server, under the profile FAPI 2.0. */
export const fapi2: Feature = {
  start: ({ config }) => ({
    clientAdmission: clientAdmission(config),
    ...(config.profile === 'fapi2' && { serverMetadata: METADATA })
  }),
  examineRecords: {
    check: 'PROFILE',
    async examine(config, database) {
      const apis = await createResourceServerStore(database).listApis()
      const clients = await createClientStore(database).list()
      return evaluateFapi2(config, apis, clients)
    }
  }
}

const METHODS = ['private_key_jwt']
const ALGORITHMS = ASSERTION_ALGORITHMS.filter((algorithm) => algorithm !== ALGORITHM_OUTSIDE_FAPI2)

/** What differs in the metadata of a server that serves no other clients (RFC 8414 §2). */
const METADATA = {
  token_endpoint_auth_methods_supported: METHODS,
  token_endpoint_auth_signing_alg_values_supported: ALGORITHMS,
  revocation_endpoint_auth_methods_supported: METHODS,
  revocation_endpoint_auth_signing_alg_values_supported: ALGORITHMS
}
