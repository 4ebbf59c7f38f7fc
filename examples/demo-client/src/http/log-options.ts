import type { FastifyRequest } from 'fastify'

export type LogStream = { write(line: string): void }

/** JSON lines. Queries are cut off (a callback carries a code), and of an error only the harmless members are taken. */
export function logOptions(stream: LogStream) {
  return {
    name: 'demo-client',
    stream,
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    serializers: {
      req: (request: FastifyRequest) => ({ method: request.method, path: request.url.split('?')[0] }),
      err: describeError
    }
  }
}

/** The client library attaches requests and responses, with tokens, to its errors; they are not logged. */
type Description = { type: string; message: string; stack: string; [member: string]: unknown }

function describeError(error: Error): Description {
  const { code, error: oauthError }: Record<string, unknown> = { ...error }
  const description = { type: error.name, message: error.message, code, oauthError, stack: error.stack ?? '' }
  return error.cause instanceof Error ? { ...description, cause: describeError(error.cause) } : description
}
