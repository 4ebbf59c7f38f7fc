import { randomBytes } from 'node:crypto'
import { hashToken, newOpaqueToken } from '@valetkey/oauth-protocol'
import type { LightMyRequestResponse } from 'fastify'
import type { TestServer } from './authorization-server.js'

/** RFC 7636 appendix B. */
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
export const PKCE = {
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256'
}

/** A code that is well formed and was never issued. */
export const unknownCode = () => newOpaqueToken('authorizationCode', randomBytes)

export type GrantState = { redeemed: boolean; ended: boolean; accessTokens: number; refreshTokens: number }

/** The row of a code in Postgres; none until it is exchanged. */
export async function grantOf(server: TestServer, code: string): Promise<GrantState | undefined> {
  const rows = await server.database.query<GrantState>({
    name: 'test_grant_of_code',
    text: `select redeemed_at is not null as redeemed, ended_at is not null as ended,
        (select count(*)::int from access_tokens a where a.grant_id = g.grant_id) as "accessTokens",
        (select count(*)::int from refresh_tokens r where r.grant_id = g.grant_id) as "refreshTokens"
      from grants g where code_hash = $1`,
    values: [hashToken(code)]
  })
  return rows[0]
}

/** Every key of a code in Redis: one, with its record or its tombstone. */
export async function redisKeysOf({ redis }: Pick<TestServer, 'redis'>, code: string): Promise<string[]> {
  return redis.keys(`*${hashToken(code).toString('hex')}*`)
}

/** The record of a code, or its tombstone. */
export async function recordOf(server: Pick<TestServer, 'redis'>, code: string): Promise<string> {
  const [key = ''] = await redisKeysOf(server, code)
  return (await server.redis.get(key)) ?? ''
}

/** The record of a returned code: without the encrypted redirect, which is deleted when the code is taken. */
export const withoutAnswer = (record: string): string => record.replace(/\n.*$/, '')

/** Remaining milliseconds of the record or tombstone. A record is kept for a minute after the expiry of the code. */
export async function remainingLife(server: Pick<TestServer, 'redis'>, code: string): Promise<number> {
  const [key = ''] = await redisKeysOf(server, code)
  return server.redis.pttl(key)
}

/** Deletes all records of a code in Redis. */
export async function forgetInRedis(server: Pick<TestServer, 'redis'>, code: string): Promise<void> {
  for (const key of await redisKeysOf(server, code)) await server.redis.del(key)
}

/** @returns a function that restores the current record of this code in Redis, like a failover to an old replica */
export async function rememberRedis(server: Pick<TestServer, 'redis'>, code: string): Promise<() => Promise<void>> {
  const [key = ''] = await redisKeysOf(server, code)
  const record = await recordOf(server, code)
  return async () => {
    await server.redis.set(key, record, 'PX', 70_000)
  }
}

/** The audit entries of the request with this response. */
export async function auditOf(
  server: TestServer,
  answer: LightMyRequestResponse
): Promise<{ event: string; reason: string | null }[]> {
  // Writes the queue; the trail stays usable.
  await server.deps.audit.close()
  return server.database.query({
    name: 'test_audit_of_request',
    text: `select event, details->>'reason' as reason from audit_events where request_id = $1 order by event_id`,
    values: [answer.headers['x-request-id']]
  })
}

export function kindOf(answer: Pick<LightMyRequestResponse, 'statusCode' | 'body'>): string {
  return answer.statusCode === 200 ? '200' : `${answer.statusCode} ${JSON.parse(answer.body).error}`
}

export async function grantIdOf({ database }: TestServer, presented: string): Promise<string | undefined> {
  const text = 'select grant_id from grants where code_hash = $1'
  const statement = { name: 'test_grant_id', text, values: [hashToken(presented)] }
  return (await database.query<{ grant_id: string }>(statement))[0]?.grant_id
}
