/** What may be asked, and the list of what may leave. */
export const listFilesSchema = {
  querystring: {
    type: 'object',
    properties: {
      page_size: { type: 'string', pattern: '^(?:[1-9][0-9]{0,2}|1000)$' },
      page_token: { type: 'string' }
    }
  },
  response: {
    200: {
      type: 'object',
      required: ['files'],
      properties: {
        files: {
          type: 'array',
          items: {
            type: 'object',
            required: ['id', 'name', 'mime_type', 'size', 'created_at', 'modified_at'],
            properties: {
              id: { type: 'string' },
              name: { type: 'string' },
              mime_type: { type: 'string' },
              size: { type: 'integer' },
              created_at: { type: 'string' },
              modified_at: { type: 'string' }
            }
          }
        },
        next_page_token: { type: 'string' }
      }
    }
  }
} as const

/** What to say of a parameter that does not fit. */
export const PARAMETER_RULES = {
  page_size: 'page_size must be a whole number from 1 to 1000, given once.',
  page_token: 'page_token must be the next_page_token of an answer to the same user and scope, given once.'
} as const
