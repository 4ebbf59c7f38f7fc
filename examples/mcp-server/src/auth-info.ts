import type { AuthInfo } from '@modelcontextprotocol/server'
import type { FastifyRequest } from 'fastify'

/**
 * Converts the guard's result to the AuthInfo of the MCP SDK. The SDK derives the `resource_metadata` of its challenges from
 * `resource`.
 */
export function toAuthInfo({ accessToken, headers }: FastifyRequest, resource: string): AuthInfo {
  if (accessToken === null) throw new Error('the route has no guard')
  const { clientId = '', scope, expiresAt, subject } = accessToken
  return {
    token: headers.authorization?.replace(/^(?:bearer|dpop) +/i, '') ?? '',
    clientId,
    scopes: [...scope],
    ...(expiresAt && { expiresAt: Math.floor(expiresAt.getTime() / 1000) }),
    resource: new URL(resource),
    extra: { subject }
  }
}
