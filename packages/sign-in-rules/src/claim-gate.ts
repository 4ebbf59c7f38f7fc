/** Claims of an ID token, with those of UserInfo. */
export type Claims = Readonly<Record<string, unknown>>

export type GateOutcome =
  | { kind: 'passed' }
  | {
      kind: 'refused'
      /** `groups_overage`: Microsoft Entra sends a link instead of the groups of a user who has too many of them. */
      reason: 'claim_refused' | 'groups_overage'
      claim: string
    }

/**
 * Whether every required claim is equal to one of its values, or is an array that contains one. A missing claim refuses: an
 * e-mail address must never take the place of a claim such as `hd`.
 */
export function evaluateGate(claims: Claims, required: Readonly<Record<string, readonly string[]>>): GateOutcome {
  for (const [claim, values] of Object.entries(required)) {
    const given = ownClaim(claims, claim)
    const texts = (Array.isArray(given) ? given : [given]).map(toText)
    if (texts.some((text) => text !== undefined && values.includes(text))) continue
    const isOverage = given === undefined && isLinked(claims, claim)
    return { kind: 'refused', reason: isOverage ? 'groups_overage' : 'claim_refused', claim }
  }
  return { kind: 'passed' }
}

/** The claim, but nothing that JavaScript objects inherit. */
export function ownClaim(claims: Claims, claim: string): unknown {
  return Object.hasOwn(claims, claim) ? claims[claim] : undefined
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** A distributed claim (OpenID Connect Core 1.0 §5.6.2). Entra also says `hasgroups`. */
function isLinked(claims: Claims, claim: string): boolean {
  const names = ownClaim(claims, '_claim_names')
  const isNamed = typeof names === 'object' && names !== null && Object.hasOwn(names, claim)
  return isNamed || (claim === 'groups' && ownClaim(claims, 'hasgroups') === true)
}
