import type { FastifyPluginAsync } from 'fastify'
import { answerWithEntityTag } from '../http/entity-tag.js'
import { Problem } from '../http/problem.js'
import type { StoredFile } from '../storage/file-record.js'
import { FILE_SCOPES, fileAccess, WHOLE_SCOPE } from './file-scopes.js'
import { type ListFilesNeeds, listFiles } from './list-files.js'
import { listFilesSchema, PARAMETER_RULES } from './list-files-schema.js'

const DEFAULT_PAGE_SIZE = 100

export type FileRouteOptions = ListFilesNeeds

/** `GET /v1/files`: the user's files within the token's scope. */
export const fileRoutes: FastifyPluginAsync<FileRouteOptions> = async (server, needs) => {
  server.addHook('onSend', answerWithEntityTag)

  server.route<{ Querystring: { page_size?: string; page_token?: string } }>({
    // HEAD by hand: the one that Fastify adds cannot answer 304.
    method: ['GET', 'HEAD'],
    url: '/v1/files',
    schema: listFilesSchema,
    onRequest: server.requireAccessToken({ anyOf: FILE_SCOPES, challengeScope: WHOLE_SCOPE }),
    async handler(request, reply) {
      const access = fileAccess(request.accessToken)
      if (access === undefined) throw new Problem(403, 'The access token stands for no user.')
      const { page_size, page_token } = request.query
      const pageSize = page_size === undefined ? DEFAULT_PAGE_SIZE : Number(page_size)
      const outcome = await listFiles({ access, pageSize, pageToken: page_token }, needs)
      switch (outcome.kind) {
        case 'bad_page_token':
          throw new Problem(400, PARAMETER_RULES.page_token)
        case 'page':
          // A private copy may be kept, and has to be asked about each time; another token is another answer.
          reply.header('cache-control', 'private, no-cache').header('vary', 'Authorization')
          return { files: outcome.files.map(toJson), next_page_token: outcome.nextPageToken }
        default:
          return outcome satisfies never
      }
    }
  })
}

function toJson(file: StoredFile) {
  return {
    id: file.fileId,
    name: file.name,
    mime_type: file.mimeType,
    size: file.size,
    created_at: file.createdAt.toISOString(),
    modified_at: file.modifiedAt.toISOString()
  }
}
