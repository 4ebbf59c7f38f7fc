import { randomBytes, randomUUID } from 'node:crypto'
import { digestToken, mintOpaqueToken } from '@valetkey/oauth-protocol'
import type { OperatorKey, OperatorKeyStore } from '../storage/operator-keys.js'
import type { Author } from './actor.js'
import { AdministrationError } from './administration-error.js'
import { isRecordId, requireName } from './name-of-record.js'
import { recordChange } from './record-change.js'

export type OperatorKeyAdministration = { operatorKeys: Omit<OperatorKeyStore, 'use'>; now: () => Date }

/** Makes a key. Its value is in the answer and nowhere else. */
export async function createOperatorKey(
  command: { name: string },
  author: Author,
  deps: OperatorKeyAdministration
): Promise<{ key: OperatorKey; operatorKey: string }> {
  const name = requireName(command.name)
  const now = deps.now()
  const operatorKey = mintOpaqueToken('operatorKey', randomBytes)
  const key = { operatorKeyId: randomUUID(), name, createdAt: now, lastUsedAt: undefined, revokedAt: undefined }
  const event = { event: 'operator_key_created', details: describe(key) } as const
  const created = await recordChange(event, { author, now }, (note) =>
    deps.operatorKeys.create(key, digestToken(operatorKey), note)
  )
  if (!created) throw new AdministrationError('conflict', `there is an operator key named ${name} already`)
  return { key, operatorKey }
}

/** Ends a key for good. Once more changes nothing. */
export async function revokeOperatorKey(
  operatorKeyId: string,
  author: Author,
  deps: OperatorKeyAdministration
): Promise<OperatorKey> {
  const found = await findOperatorKey(operatorKeyId, deps)
  if (found.revokedAt !== undefined) return found
  const now = deps.now()
  const event = { event: 'operator_key_revoked', details: describe(found) } as const
  const revoked = await recordChange(event, { author, now }, (note) =>
    deps.operatorKeys.revoke(operatorKeyId, now, note)
  )
  return revoked ?? findOperatorKey(operatorKeyId, deps)
}

async function findOperatorKey(operatorKeyId: string, deps: OperatorKeyAdministration): Promise<OperatorKey> {
  const found = isRecordId(operatorKeyId) ? await deps.operatorKeys.find(operatorKeyId) : undefined
  if (found === undefined) throw new AdministrationError('not_found', `there is no operator key ${operatorKeyId}`)
  return found
}

const describe = ({ operatorKeyId, name }: OperatorKey) => ({ operatorKeyId, name })

/** What operators see of a key; its value is shown once, where it is made. */
export function operatorKeyDocument(key: OperatorKey) {
  return {
    operator_key_id: key.operatorKeyId,
    name: key.name,
    created_at: key.createdAt.toISOString(),
    ...(key.lastUsedAt && { last_used_at: key.lastUsedAt.toISOString() }),
    ...(key.revokedAt && { revoked_at: key.revokedAt.toISOString() })
  }
}
