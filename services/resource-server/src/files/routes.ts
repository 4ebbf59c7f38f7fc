import type { Guard } from '@valetkey/guard'
import { Problem } from '@valetkey/service-kit'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { addEntityTag } from '../http/entity-tag.js'
import { fileAccess, SCOPE_NAMES, WHOLE_SCOPE } from './file-scopes.js'
import { type ListFilesDeps, listFiles } from './list-files.js'
import {
  DEFAULT_PAGE_SIZE,
  describeParameters,
  headFilesSchema,
  listFilesSchema,
  PARAMETER_RULES
} from './list-files-schema.js'

type Query = { Querystring: { page_size?: string; page_token?: string } }

declare module 'fastify' {
  interface FastifyReply {
    /** In the page that the response has or would have, for GET without a match of the entity tag. */
    fileCount: number
  }
}

/** `GET /v1/files`: the user's files within the token's scope. @param deps.countUse tells the user what apps list */
export const fileRoutes: FastifyPluginAsync<ListFilesDeps & { countUse: Guard['countUse'] }> = async (server, deps) => {
  server.decorateReply('fileCount', 0)
  server.addHook('onSend', addEntityTag)
  server.addHook('onResponse', (request, reply, done) => {
    const { statusCode } = reply
    // HEAD and 304 return no files: the time counts.
    if (statusCode === 200 || statusCode === 304) {
      const isListed = statusCode === 200 && request.method === 'GET'
      deps.countUse(request.accessToken, 'list_files', isListed ? reply.fileCount : 0)
    }
    done()
  })

  const route = {
    url: '/v1/files',
    onRequest: server.requireAccessToken({ anyOf: SCOPE_NAMES, challengeScope: WHOLE_SCOPE }),
    handler: sendFiles,
    config: { swaggerTransform: describeParameters }
  }
  server.route<Query>({ ...route, method: 'GET', schema: listFilesSchema, exposeHeadRoute: false })
  // The HEAD route that Fastify adds cannot respond with 304.
  server.route<Query>({ ...route, method: 'HEAD', schema: headFilesSchema })

  async function sendFiles(request: FastifyRequest<Query>, reply: FastifyReply): Promise<FastifyReply> {
    const access = fileAccess(request.accessToken)
    if (access === undefined) throw new Problem(403, 'The access token has no user.')
    const { page_size, page_token } = request.query
    const pageSize = page_size === undefined ? DEFAULT_PAGE_SIZE : Number(page_size)
    const outcome = await listFiles({ access, pageSize, pageToken: page_token }, deps)
    switch (outcome.kind) {
      case 'bad_page_token':
        throw new Problem(400, PARAMETER_RULES.page_token)
      case 'page':
        reply.fileCount = outcome.count
        // The user agent may cache the page, but must revalidate it; a page differs by token.
        reply.header('cache-control', 'private, no-cache').header('vary', 'Authorization')
        return reply.type('application/json; charset=utf-8').send(pageJson(outcome))
      default:
        return outcome satisfies never
    }
  }
}

/** Written as text, because the files are JSON text already. A page token needs no escaping. */
function pageJson({ filesJson, nextPageToken }: { filesJson: string; nextPageToken: string | undefined }): string {
  return `{"files":[${filesJson}]${nextPageToken === undefined ? '' : `,"next_page_token":"${nextPageToken}"`}}`
}
