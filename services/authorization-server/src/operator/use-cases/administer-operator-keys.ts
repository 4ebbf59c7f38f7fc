import { randomBytes, randomUUID } from 'node:crypto'
import { hashToken, newOpaqueToken } from '@valetkey/oauth-protocol'
import type { OperatorKey, OperatorKeyStore, OperatorPurpose } from '../../storage/postgres/operator-keys.js'
import type { Author } from './actor.js'
import { AdministrationError } from './administration-error.js'
import { isRecordId, requireName } from './name-of-record.js'
import { recordChange } from './record-change.js'

export type OperatorKeyAdministration = { operatorKeys: Omit<OperatorKeyStore, 'use'> }

/**
 * Creates a key. Only the result contains its value. Revoking a key revokes the keys created with it, so that a thief
 * cannot keep one.
 * @param command.purpose the only thing that the key may do; undefined: everything
 * @throws {AdministrationError} `conflict` when a live key has the name, or the key of this request was revoked
 */
export async function createOperatorKey(
  command: { name: string; purpose?: OperatorPurpose | undefined },
  author: Author,
  deps: OperatorKeyAdministration
): Promise<{ key: OperatorKey; operatorKey: string }> {
  const name = requireName(command.name)
  const operatorKey = newOpaqueToken('operatorKey', randomBytes)
  const createdBy = author.actor.kind === 'operator_key' ? author.actor.operatorKeyId : undefined
  const { purpose } = command
  const named = { operatorKeyId: randomUUID(), name }
  const event = { event: 'operator_key_created', details: { ...named, ...(purpose && { purpose }) } } as const
  const key = await recordChange(event, author, async (note) =>
    requireCreated(await deps.operatorKeys.create({ ...named, purpose, createdBy }, hashToken(operatorKey), note), name)
  )
  return { key, operatorKey }
}

/** Revokes a key and all keys created with it. Idempotent. */
export async function revokeOperatorKey(
  operatorKeyId: string,
  author: Author,
  deps: OperatorKeyAdministration
): Promise<{ key: OperatorKey; alsoRevoked: number }> {
  const found = await findOperatorKey(operatorKeyId, deps)
  if (found.revokedAt !== undefined) return { key: found, alsoRevoked: 0 }
  const event = { event: 'operator_key_revoked', details: describe(found) } as const
  const revoked = await recordChange(
    event,
    author,
    (note) => deps.operatorKeys.revoke(operatorKeyId, note),
    (outcome) => ({ alsoRevoked: outcome?.alsoRevoked })
  )
  return revoked ?? { key: await findOperatorKey(operatorKeyId, deps), alsoRevoked: 0 }
}

function requireCreated(outcome: Awaited<ReturnType<OperatorKeyStore['create']>>, name: string): OperatorKey {
  if (outcome === 'name_taken')
    throw new AdministrationError('conflict', `an operator key named ${name} exists already`)
  if (outcome === 'creator_revoked')
    throw new AdministrationError('conflict', 'the operator key of this request was revoked')
  return outcome
}

async function findOperatorKey(operatorKeyId: string, deps: OperatorKeyAdministration): Promise<OperatorKey> {
  const found = isRecordId(operatorKeyId) ? await deps.operatorKeys.find(operatorKeyId) : undefined
  if (found === undefined) throw new AdministrationError('not_found', `there is no operator key ${operatorKeyId}`)
  return found
}

const describe = ({ operatorKeyId, name }: OperatorKey) => ({ operatorKeyId, name })

/** A key for operators, without its value. */
export function operatorKeyDocument(key: OperatorKey) {
  return {
    operator_key_id: key.operatorKeyId,
    name: key.name,
    ...(key.purpose && { purpose: key.purpose }),
    created_at: key.createdAt.toISOString(),
    ...(key.createdBy && { created_by: key.createdBy }),
    ...(key.lastUsedAt && { last_used_at: key.lastUsedAt.toISOString() }),
    ...(key.revokedAt && { revoked_at: key.revokedAt.toISOString() })
  }
}

/** A revoked key, with the number of keys revoked with it. */
export function revocationDocument({ key, alsoRevoked }: { key: OperatorKey; alsoRevoked: number }) {
  return { ...operatorKeyDocument(key), also_revoked: alsoRevoked }
}
