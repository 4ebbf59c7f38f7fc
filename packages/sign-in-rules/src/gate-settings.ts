import { isObject } from './claims.js'

/** The values of each claim, by its name or its path. The claim must have one of them. */
export type Gate = Readonly<Record<string, readonly string[]>>

type Owner = { issuer: string; clientId: string }

/** A sign-in never has the same value as the one before. */
const CHANGING = ['nonce', 'exp', 'iat', 'nbf', 'auth_time', 'jti', 'sid', 'at_hash', 'c_hash', 's_hash']
/** Objects, whose roles are at a path. */
const OBJECTS = { realm_access: 'roles', resource_access: 'CLIENT.roles', address: 'country' } as const
const BOOLEANS = ['email_verified', 'phone_number_verified']

/**
 * Reads the gate of a provider. A gate that can never match is a mistake: it would refuse every user, and say only that the claim
 * is missing.
 */
export function readGate(value: unknown, owner: Owner, report: (problem: string) => void): Gate {
  if (value === undefined) return {}
  if (!isObject(value)) {
    report('.require must be an object of claims, each with a list of texts: {"groups": ["staff"]}')
    return {}
  }
  for (const [claim, values] of Object.entries(value)) {
    const problem = problemOfClaim(claim) ?? problemOfValues(claim, values, owner)
    if (problem !== undefined) report(`.require ${problem}`)
  }
  return value as Gate
}

function problemOfClaim(claim: string): string | undefined {
  // A colon is in names that are URLs, which may contain anything.
  const hasEmptyPart = claim === '' || (!claim.includes(':') && claim.split('.').includes(''))
  if (hasEmptyPart || claim.trim() !== claim || /\p{Cc}/u.test(claim)) {
    return `has a claim that no provider sends: ${JSON.stringify(claim)}`
  }
  if (CHANGING.includes(claim)) return `can never match: ${claim} differs at every sign-in`
  if (!Object.hasOwn(OBJECTS, claim)) return undefined
  const member = OBJECTS[claim as keyof typeof OBJECTS]
  return `can never match: ${claim} is an object; name the path to a value, such as ${claim}.${member}`
}

function problemOfValues(claim: string, values: unknown, { issuer, clientId }: Owner): string | undefined {
  if (isObject(values)) return `must name a claim within ${claim} by its path: {"${claim}.roles": ["staff"]}`
  if (!Array.isArray(values) || values.length === 0 || !values.every((each) => typeof each === 'string')) {
    return 'must be an object of claims, each with a list of texts: {"groups": ["staff"]}'
  }
  if (values.some((each) => each === '' || /\p{Cc}/u.test(each))) return `has a value of ${claim} that is not a name`
  const possible = possibleValues(claim, issuer, clientId)
  if (possible === undefined || values.some((each) => possible.includes(each))) return undefined
  return `can never match: ${claim} is ${possible.join(' or ')}`
}

function possibleValues(claim: string, issuer: string, clientId: string): readonly string[] | undefined {
  if (claim === 'iss') return [issuer]
  if (claim === 'azp') return [clientId]
  return BOOLEANS.includes(claim) ? ['true', 'false'] : undefined
}
