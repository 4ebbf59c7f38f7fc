import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { createOperatorKey } from '../../src/operator/use-cases/administer-operator-keys.js'
import type { TestServer } from './authorization-server.js'
import { OPERATOR } from './command-line.js'

const author = { actor: { kind: 'command_line', name: OPERATOR } } as const

/** A caller of the administration API with its own key. */
export async function startAdministration(server: TestServer, name = 'ci') {
  const { key, operatorKey } = await createOperatorKey({ name }, author, server.deps.admin.operatorKeys)
  const authorization = `Bearer ${operatorKey}`
  return {
    operatorKey,
    /** The actor in the audit entries of its changes. */
    actor: { kind: 'operator_key', name, operatorKeyId: key.operatorKeyId },
    async call(
      method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
      path: string,
      payload?: object | string,
      headers: Record<string, string> = {}
    ): Promise<LightMyRequestResponse> {
      const request: InjectOptions = { method, url: `/admin${path}`, headers: { authorization, ...headers } }
      return server.operatorServer.inject({ ...request, ...(payload !== undefined && { payload }) })
    }
  }
}

export type Administration = Awaited<ReturnType<typeof startAdministration>>

type AuditRow = {
  event: string
  request_id: string | null
  client_id: string | null
  user_id: string | null
  address: string | null
  details: Record<string, unknown>
}

/** The audit entries of changes by operators, oldest first. */
export async function changesIn({ database }: Pick<TestServer, 'database'>): Promise<AuditRow[]> {
  const text = `select event, request_id, client_id, user_id, address, details from audit_events
    where details ? 'actor' order by event_id`
  return database.query<AuditRow>({ name: 'test_changes_by_operators', text, values: [] })
}

/** The newest audit entry. */
export async function lastChangeIn(server: Pick<TestServer, 'database'>): Promise<AuditRow | undefined> {
  return (await changesIn(server)).at(-1)
}
