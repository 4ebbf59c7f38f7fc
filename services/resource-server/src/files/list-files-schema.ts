import type { SwaggerTransform } from '@fastify/swagger'
import { NONCE, problemResponses, REQUEST_ID, withoutContent } from '../http/problem-schema.js'
import { SCOPE_NAMES } from './file-scopes.js'

export const DEFAULT_PAGE_SIZE = 100

/** Error descriptions for an invalid parameter. */
export const PARAMETER_RULES = {
  page_size: 'page_size must be a whole number from 1 to 1000, given once.',
  page_token: 'page_token must be the next_page_token of a response to the same user and scope, given once.'
} as const

const file = {
  type: 'object',
  required: ['id', 'name', 'mime_type', 'size', 'created_at', 'modified_at'],
  properties: {
    id: { type: 'string', format: 'uuid' },
    name: { type: 'string', description: "The file's name, without a path." },
    mime_type: { type: 'string', description: 'Without parameters; application/octet-stream if unknown.' },
    size: { type: 'integer', minimum: 0, description: 'Bytes; may exceed 2^53.' },
    created_at: { type: 'string', format: 'date-time', description: 'UTC, with milliseconds.' },
    modified_at: { type: 'string', format: 'date-time', description: 'UTC, with milliseconds.' }
  }
} as const

const page = {
  type: 'object',
  required: ['files'],
  properties: {
    files: { type: 'array', items: file, maxItems: 1000 },
    next_page_token: { type: 'string', description: 'Absent on the last page.' }
  }
} as const

const headers = {
  ETag: { type: 'string' },
  'Cache-Control': {
    type: 'string',
    enum: ['private, no-cache', 'no-store'],
    description: 'no-store with DPoP-Nonce.'
  },
  Vary: { type: 'string', const: 'Authorization' },
  ...NONCE,
  ...REQUEST_ID
} as const

/** Fastify does not apply the response schema, because the store returns JSON text. A test compares the two. */
export const listFilesSchema = {
  operationId: 'listFiles',
  summary: "The user's files within the token's scope, or those that the user chose",
  description:
    'Newest created_at first, then by id. While files are added and removed, no file is listed twice and no remaining file is left out.',
  security: [{ bearer: [] }, ...SCOPE_NAMES.map((scope) => ({ oauth2: [scope] }))],
  querystring: {
    type: 'object',
    properties: {
      page_size: { type: 'string', pattern: '^(?:[1-9][0-9]{0,2}|1000)$', description: 'Maximum number of files.' },
      page_token: { type: 'string', description: 'next_page_token of the previous page; valid for one user and scope.' }
    }
  },
  headers: {
    type: 'object',
    properties: {
      'if-none-match': { type: 'string', description: 'The ETag of an earlier response: 304 if nothing changed.' }
    }
  },
  response: {
    200: { description: 'A page of the list.', headers, content: { 'application/json': { schema: page } } },
    304: { type: 'null', description: 'The page has not changed.', headers },
    ...problemResponses
  }
} as const

export const headFilesSchema = { ...listFilesSchema, response: withoutContent(listFilesSchema.response) }

/**
 * The OpenAPI document shows page_size as an integer. Validation uses a text pattern, because as numbers `1e2` and `007`
 * would be valid.
 */
export const describeParameters: SwaggerTransform = ({ schema, url }) => {
  const { page_size, page_token } = listFilesSchema.querystring.properties
  const { description } = page_size
  const wholeNumber = { type: 'integer', minimum: 1, maximum: 1000, default: DEFAULT_PAGE_SIZE, description }
  return {
    url,
    schema: { ...schema, querystring: { type: 'object', properties: { page_size: wholeNumber, page_token } } }
  }
}
