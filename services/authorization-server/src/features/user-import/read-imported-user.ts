import { randomUUID } from 'node:crypto'
import { problemOfIdentityKey } from '@valetkey/sign-in-rules'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { requireName } from '../../operator/use-cases/name-of-record.js'
import { parseObject } from '../../operator/use-cases/parse-object.js'
import { requireEmail, requireUserName } from '../../operator/use-cases/user-input.js'
import { readForeignHash } from '../../platform/passwords/foreign-hash.js'
import type { IdentityKey } from '../foreign-sign-in/identities/identity-store.js'
import type { ImportedUser } from './user-import-store.js'

const MEMBERS = ['username', 'user_id', 'password_hash', 'identities', 'display_name', 'email', 'disabled']
/** Members of exports that say the same under another name. */
const SAYS: readonly (readonly [readonly string[], string])[] = [
  [['id', 'uid', 'uuid', 'sub', 'subject', 'userId'], 'write "user_id" if it is a UUID that stays, or an identity'],
  [
    ['enabled', 'is_active', 'active', 'locked', 'banned', 'blocked', 'suspended', 'status'],
    'write "disabled":true or false'
  ],
  [['password', 'passwordHash', 'hash', 'encrypted_password', 'credentials', 'secretData'], 'write "password_hash"']
]
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/
const MOST_IDENTITIES = 20

/**
 * Reads one line of an import.
 * @param onSkipped is called with the place and the reason for each identity that is not used although the user has others
 * @throws {AdministrationError} naming what is wrong; never with the hash
 */
export function readImportedUser(line: string, onSkipped: (problem: string) => void = () => {}): ImportedUser {
  const given = parseObject(line)
  const unknown = Object.keys(given).find((name) => !MEMBERS.includes(name))
  if (unknown !== undefined) throw invalid(problemOfUnknown(unknown))
  const {
    username,
    user_id: id,
    password_hash: hash,
    identities = [],
    display_name: displayName,
    email,
    disabled = false
  } = given
  if (typeof username !== 'string') throw invalid('username is missing or not a text')
  if (typeof disabled !== 'boolean') throw invalid('disabled is not true or false')
  const userId = optionalText(id, 'user_id', requireUuid)
  return {
    userId: userId ?? randomUUID(),
    keepsId: userId !== undefined,
    disabled,
    username: requireUserName(username, 'username'),
    passwordHash: hash === undefined || hash === null ? undefined : requireHash(hash),
    displayName: optionalText(displayName, 'display_name', (text) => requireName(text, 'display_name')),
    email: optionalText(email, 'email', requireEmail),
    identities: requireIdentities(identities, onSkipped)
  }
}

function problemOfUnknown(member: string): string {
  const [, advice] = SAYS.find(([names]) => names.includes(member)) ?? []
  const told = advice ?? 'leave it out if it does not matter here'
  return `${JSON.stringify(member)} is not a member of a user: ${told}`
}

function requireUuid(given: string): string {
  const id = given.toLowerCase()
  if (UUID.test(id)) return id
  throw invalid('user_id is not a UUID: an id of another form is the subject of an identity')
}

/** Keycloak exports a credential as an object. */
function requireHash(given: unknown): string {
  const isObject = typeof given === 'object' && given !== null
  if (typeof given !== 'string' && !isObject) throw invalid('password_hash is not a text')
  const read = readForeignHash(isObject ? JSON.stringify(given) : given)
  if ('problem' in read) throw invalid(`password_hash: ${read.problem}`)
  return read.passwordHash
}

function optionalText(given: unknown, name: string, read: (text: string) => string): string | undefined {
  if (given === undefined || given === null || given === '') return undefined
  if (typeof given !== 'string') throw invalid(`${name} is not a text`)
  return read(given)
}

/** An identity of a provider that cannot be one here does not keep the user out, who has another way to sign in. */
function requireIdentities(given: unknown, onSkipped: (problem: string) => void): readonly IdentityKey[] {
  if (!Array.isArray(given) || given.length > MOST_IDENTITIES) {
    throw invalid(`identities is not a list of at most ${MOST_IDENTITIES}`)
  }
  const read = given.map(readIdentity)
  const usable = read.flatMap((outcome) => ('problem' in outcome ? [] : [outcome]))
  for (const [index, outcome] of read.entries()) {
    if (!('problem' in outcome)) continue
    if (usable.length === 0) throw invalid(outcome.problem)
    onSkipped(`identities[${index}] is skipped: ${outcome.problem}`)
  }
  return usable
}

function readIdentity(given: unknown): IdentityKey | { problem: string } {
  const { issuer, subject, ...others } = (given ?? {}) as Record<string, unknown>
  if (typeof issuer !== 'string' || typeof subject !== 'string' || Object.keys(others).length > 0) {
    return { problem: 'an identity is not {"issuer","subject"}, both texts' }
  }
  const problem = problemOfIdentityKey({ issuer, subject })
  return problem === undefined ? { issuer, subject } : { problem }
}

function invalid(message: string): AdministrationError {
  return new AdministrationError('invalid', message)
}
