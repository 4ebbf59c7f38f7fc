import { Problem } from '@valetkey/service-kit'
import { findUser } from '../../operator/use-cases/administer-users.js'
import type { User, UserStore } from '../../storage/postgres/users.js'
import { findUserByIdentity } from '../foreign-sign-in/identities/administer-identities.js'
import type { IdentityStore } from '../foreign-sign-in/identities/identity-store.js'

/** A subject identifier (RFC 9493), as received. */
export type SubjectIdentifier = { format: string } & Readonly<Record<string, unknown>>

export type SubjectSources = {
  issuer: string
  users: Pick<UserStore, 'findById'>
  identities: Pick<IdentityStore, 'findUser'>
}

/**
 * Finds the user of a subject identifier: `opaque` with a user id, `iss_sub` with this server's issuer and a user id, or `iss_sub` with a
 * provider and its subject. Never by an e-mail address, which a provider may give to another person.
 * @throws {Problem} 400 for another format or a missing member
 * @throws {AdministrationError} `not_found`
 */
export async function findSubject(identifier: SubjectIdentifier, sources: SubjectSources): Promise<User> {
  switch (identifier.format) {
    case 'opaque':
      return findUser(textOf(identifier, 'id'), sources)
    case 'iss_sub': {
      const [issuer, subject] = [textOf(identifier, 'iss'), textOf(identifier, 'sub')]
      return issuer === sources.issuer ? findUser(subject, sources) : findUserByIdentity({ issuer, subject }, sources)
    }
    default:
      throw new Problem(400, 'sub_id.format must be iss_sub or opaque.')
  }
}

function textOf(identifier: SubjectIdentifier, member: string): string {
  const value = identifier[member]
  if (typeof value !== 'string') throw new Problem(400, `sub_id.${member} must be a text.`)
  return value
}
