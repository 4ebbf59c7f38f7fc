import { Problem } from '@valetkey/service-kit'
import type { FastifyPluginAsync } from 'fastify'
import { MOST_LOGO_BYTES } from '../../platform/clients/encode-logo.js'
import type { ClientAdministration } from '../use-cases/administer-client.js'
import { findClient, updateClient } from '../use-cases/administer-client.js'
import { AdministrationError } from '../use-cases/administration-error.js'
import { storeLogo } from '../use-cases/client-branding.js'
import { clientDocument } from '../use-cases/client-document.js'
import { authorOf } from './authenticate-operator.js'
import { client } from './client-schemas.js'
import { jsonResponse, object, problemResponses, text } from './response-schemas.js'

type Params = { Params: { client_id: string } }

const TYPES = ['image/png', 'image/jpeg', 'image/webp']
const params = object({ client_id: text('The client id.') })
const response = { 200: jsonResponse('The client.', client), ...problemResponses }

const putSchema = {
  operationId: 'setClientLogo',
  summary: 'Set the logo of a client; the image is encoded anew, 256 by 256 pixels',
  params,
  // The body is the file itself.
  body: { content: Object.fromEntries(TYPES.map((type) => [type, { schema: {} }])) },
  response
}

const deleteSchema = {
  operationId: 'deleteClientLogo',
  summary: 'Remove the logo of a client; safe to repeat',
  params,
  response
}

const getSchema = {
  operationId: 'getLogo',
  summary: 'The image of a logo, also of an app that is not published',
  params: object({ hash: { ...text('SHA-256 of the logo.'), pattern: '^[0-9a-f]{64}$' } }),
  response: {
    200: { description: 'The image.', content: { 'image/png': { schema: { type: 'string', format: 'binary' } } } },
    ...problemResponses
  }
}

/** `/admin/clients/{client_id}/logo`, and the images at `/admin/logos/{hash}` */
export const clientLogoRoutes: FastifyPluginAsync<ClientAdministration> = async (admin, deps) => {
  admin.register(async (upload) => {
    upload.removeAllContentTypeParsers()
    upload.addContentTypeParser(TYPES, { parseAs: 'buffer', bodyLimit: MOST_LOGO_BYTES }, (_request, body, done) =>
      done(null, body)
    )
    upload.addContentTypeParser('*', (_request, _body, done) =>
      done(new Problem(415, `The body must be one of ${TYPES.join(', ')}.`))
    )
    upload.put<Params & { Body: Buffer | undefined }>(
      '/clients/:client_id/logo',
      { schema: putSchema, bodyLimit: MOST_LOGO_BYTES },
      async (request) => {
        const { client_id: clientId } = request.params
        await findClient(clientId, deps)
        const logo = await storeLogo(request.body ?? Buffer.alloc(0), deps.clientLogos)
        const command = { clientId, settings: { logo } }
        return clientDocument((await updateClient(command, authorOf(request), deps)).client)
      }
    )
  })

  admin.get<{ Params: { hash: string } }>('/logos/:hash', { schema: getSchema }, async (request, reply) => {
    const found = await deps.clientLogos.find(request.params.hash)
    if (found === undefined) throw new AdministrationError('not_found', 'there is no such logo')
    return reply.header('content-security-policy', "default-src 'none'; sandbox").type('image/png').send(found.image)
  })

  admin.delete<Params>('/clients/:client_id/logo', { schema: deleteSchema }, async (request) => {
    const command = { clientId: request.params.client_id, settings: { logo: null } }
    return clientDocument((await updateClient(command, authorOf(request), deps)).client)
  })
}
