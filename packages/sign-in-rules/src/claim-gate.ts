import { type Claims, claimsAt, isObject, ownClaim } from './claims.js'

export type GateOutcome =
  | { kind: 'passed' }
  | {
      kind: 'refused'
      /** `groups_overage`: Microsoft Entra sends a link instead of the groups of a user who has too many of them. */
      reason: 'claim_refused' | 'groups_overage'
      claim: string
    }

/**
 * Whether every required claim has one of its values. A missing claim refuses: an e-mail address must never take the place of a
 * claim such as `hd`.
 */
export function evaluateGate(claims: Claims, required: Readonly<Record<string, readonly string[]>>): GateOutcome {
  for (const [claim, values] of Object.entries(required)) {
    const given = claimsAt(claims, claim)
    if (given.flatMap(toTexts).some((text) => values.includes(text))) continue
    const isOverage = given.every((value) => value === undefined) && isLinked(claims, claim)
    return { kind: 'refused', reason: isOverage ? 'groups_overage' : 'claim_refused', claim }
  }
  return { kind: 'passed' }
}

/**
 * The shapes in which providers give roles: one value, a list of values, a list of objects with a `name` or `value`, and an
 * object with an object for each role (Zitadel). Text is never divided: the name of a group may contain spaces and commas.
 */
function toTexts(given: unknown): readonly string[] {
  if (isObject(given)) return Object.keys(given).filter((role) => isObject(given[role]))
  const values = Array.isArray(given) ? given.flatMap(valuesOfElement) : [given]
  return values.map(toText).filter((text) => text !== undefined)
}

function valuesOfElement(element: unknown): readonly unknown[] {
  return isObject(element) ? [ownClaim(element, 'name'), ownClaim(element, 'value')] : [element]
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** A distributed claim (OpenID Connect Core 1.0 §5.6.2). Entra also says `hasgroups`. */
function isLinked(claims: Claims, claim: string): boolean {
  const names = ownClaim(claims, '_claim_names')
  const isNamed = isObject(names) && Object.hasOwn(names, claim)
  return isNamed || (claim === 'groups' && ownClaim(claims, 'hasgroups') === true)
}
