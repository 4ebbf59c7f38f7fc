import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../../operator/http/authenticate-operator.js'
import {
  type IdentityAdministration,
  identityDocument,
  linkIdentity,
  listIdentities,
  unlinkIdentity
} from './administer-identities.js'
import * as schemas from './identity-admin-schemas.js'
import type { IdentityKey } from './identity-store.js'

export type IdentityRouteOptions = IdentityAdministration

type OfUser = { Params: { user_id: string } }

const PATH = '/users/:user_id/identities'

/** `/admin/users/{user_id}/identities` */
export const identityRoutes: FastifyPluginAsync<IdentityRouteOptions> = async (admin, deps) => {
  admin.get<OfUser>(PATH, { schema: schemas.listIdentities }, async ({ params }) => {
    const identities = await listIdentities(params.user_id, deps)
    return { identities: identities.map(identityDocument) }
  })

  admin.post<OfUser & { Body: IdentityKey }>(PATH, { schema: schemas.linkIdentity }, async (request, reply) => {
    const identity = await linkIdentity(request.params.user_id, request.body, authorOf(request), deps)
    reply.code(201)
    return identityDocument(identity)
  })

  // The identity is in the query, because many programs and proxies drop the body of a DELETE.
  admin.delete<OfUser & { Querystring: IdentityKey }>(PATH, { schema: schemas.unlinkIdentity }, async (request) =>
    identityDocument(await unlinkIdentity(request.params.user_id, request.query, authorOf(request), deps))
  )
}
