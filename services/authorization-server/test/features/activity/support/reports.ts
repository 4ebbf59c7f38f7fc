import { randomBytes } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import type { Credentials, TestServer } from '../../../support/authorization-server.js'
import { basic, exchange, obtainCode } from '../../../support/flow.js'
import { introspectionOf } from '../../../support/tokens.js'

export type Use = { grant_id: string; action: string; count: number; last_at: number }

export const newReportId = (): string => randomBytes(16).toString('base64url')
export const nowInSeconds = (): number => Math.floor(Date.now() / 1_000)

/** A use of the built-in action. */
export function useOf(grantId: string, change: Partial<Use> = {}): Use {
  return { grant_id: grantId, action: 'list_files', count: 1, last_at: nowInSeconds(), ...change }
}

export function sendReport(
  server: TestServer,
  caller: Credentials,
  uses: readonly unknown[],
  reportId = newReportId()
): Promise<LightMyRequestResponse> {
  return sendBody(server, JSON.stringify({ report_id: reportId, uses }), basic(caller))
}

export function sendBody(
  server: TestServer,
  payload: string,
  headers: Record<string, string>
): Promise<LightMyRequestResponse> {
  return server.internalServer.inject({
    method: 'POST',
    url: '/uses',
    headers: { 'content-type': 'application/json', ...headers },
    payload
  })
}

/** Lets a user allow a client. @returns the grant, as the API learns it */
export async function newGrant(
  server: TestServer,
  { username, client, api }: { username: string; client: Credentials; api: Credentials },
  change: Record<string, string> = {}
): Promise<string> {
  const code = await obtainCode(server, client, { username, change })
  const { access_token } = (await exchange(server, client, code)).json()
  const introspection = await introspectionOf(server, api, access_token)
  return (introspection as { grant_id: string }).grant_id
}

export type StoredUse = { action: string; day: string; items: number }

export function storedUses(server: TestServer, userId: string): Promise<StoredUse[]> {
  return server.database.query<StoredUse>({
    name: 'test_app_uses',
    text: `select action, day::text as day, items::float8 as items from app_uses where user_id = $1
      order by day, action, client_id`,
    values: [userId]
  })
}
