import openApi from '@fastify/swagger'
import { decodeText, Problem, sendProblem } from '@valetkey/service-kit'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { collectMethods } from '../../http/known-routes.js'
import type { ClientAdministration } from '../use-cases/administer-client.js'
import type { GrantListing } from '../use-cases/administer-grants.js'
import type { OperatorKeyAdministration } from '../use-cases/administer-operator-keys.js'
import type { ResourceServerAdministration } from '../use-cases/administer-resource-servers.js'
import type { ScopeAdministration } from '../use-cases/administer-scopes.js'
import type { UserAdministration } from '../use-cases/administer-users.js'
import type { AuditReading } from '../use-cases/read-audit.js'
import { auditRoutes } from './audit-routes.js'
import { authenticateOperator, type OperatorAuthentication } from './authenticate-operator.js'
import { clientLogoRoutes } from './client-logo-routes.js'
import { clientRoutes } from './client-routes.js'
import { clientSecretRoutes } from './client-secret-routes.js'
import { compileResponse, compileSchema } from './compile-schema.js'
import { grantRoutes } from './grant-routes.js'
import { openApiRoute, openApiSettings } from './open-api-route.js'
import { operatorKeyRoutes } from './operator-key-routes.js'
import { resourceServerRoutes } from './resource-server-routes.js'
import { scopeRoutes } from './scope-routes.js'
import { sendProblemForError } from './send-problem-for-error.js'
import { userRoutes } from './user-routes.js'

export type AdminRouteOptions = {
  clients: ClientAdministration
  scopes: ScopeAdministration
  resourceServers: ResourceServerAdministration
  authentication: OperatorAuthentication
  operatorKeys: OperatorKeyAdministration
  users: UserAdministration
  grants: GrantListing
  audit: AuditReading
  features: readonly { adminRoutes?: (admin: FastifyInstance) => void }[]
}

/** The administration API: JSON, and every route requires an operator key. */
export const adminRoutes: FastifyPluginAsync<AdminRouteOptions> = async (admin, options) => {
  admin.decorateRequest('operator', undefined)
  admin.addHook('onRequest', authenticateOperator(options.authentication))
  admin.setErrorHandler(sendProblemForError)
  admin.setNotFoundHandler(sendNotFound(admin))
  admin.setValidatorCompiler(compileSchema)
  admin.setSerializerCompiler(compileResponse)
  readJsonOnly(admin)
  await admin.register(openApi, openApiSettings)
  admin.register(openApiRoute)
  admin.register(operatorKeyRoutes, options.operatorKeys)
  admin.register(userRoutes, options.users)
  admin.register(grantRoutes, options.grants)
  admin.register(auditRoutes, options.audit)
  admin.register(clientRoutes, options.clients)
  admin.register(clientSecretRoutes, options.clients)
  admin.register(clientLogoRoutes, options.clients)
  admin.register(scopeRoutes, options.scopes)
  admin.register(resourceServerRoutes, options.resourceServers)
  for (const feature of options.features) feature.adminRoutes?.(admin)
}

/** Accepts an empty body with any content type, because many clients send one with every POST. */
function readJsonOnly(admin: FastifyInstance): void {
  const parse = admin.getDefaultJsonParser('error', 'error')
  admin.removeAllContentTypeParsers()
  admin.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const decoded = decodeText(body as Buffer)
    if ('problem' in decoded) done(new Problem(400, `The body ${decoded.problem}.`), undefined)
    else if (decoded.text === '') done(null, undefined)
    else parse(request, decoded.text, done)
  })
}

/** 405 with `Allow` for a path that has other methods (RFC 9110 §15.5.6), else 404. */
function sendNotFound(admin: FastifyInstance) {
  const methodsOf = collectMethods(admin)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const allowed = methodsOf(request.url.split('?', 1)[0] ?? '').join(', ')
    if (allowed === '') return sendProblem(reply, new Problem(404, 'There is nothing at this address.'))
    return sendProblem(reply.header('allow', allowed), new Problem(405, `The method must be one of ${allowed}.`))
  }
}
