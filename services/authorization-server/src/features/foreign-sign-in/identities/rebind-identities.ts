import { problemOfIssuer, problemOfSubject } from '@valetkey/sign-in-rules'
import type { Author } from '../../../operator/use-cases/actor.js'
import { AdministrationError } from '../../../operator/use-cases/administration-error.js'
import { recordChange } from '../../../operator/use-cases/record-change.js'
import type { IdentityRebindingStore, Issuers, Rebinding } from './identity-rebinding-store.js'

export type RebindingAdministration = { rebindings: IdentityRebindingStore }

/** What a file would change. `rest`: identities of the issuer that are not in the file, which keep their subjects. */
export type RebindingPlan = { rebindings: readonly Rebinding[]; skipped: number; rest: number }

type Line = Rebinding & { number: number }
type Problem = { line: number; problem: string }

/** Problems that one error names. */
const MOST_NAMED = 20

/**
 * Reads lines of `{"from":"…","to":"…"}` and compares them with the linked identities; changes nothing.
 * @param skipUnknown whether lines for identities that are not linked are skipped; without it, they are errors
 * @throws {AdministrationError} with the number of each wrong line
 */
export async function planRebinding(
  text: string,
  issuers: Issuers,
  skipUnknown: boolean,
  { rebindings }: RebindingAdministration
): Promise<RebindingPlan> {
  const problem = problemOfIssuer(issuers.issuer) ?? problemOfIssuer(issuers.newIssuer)
  if (problem !== undefined) throw new AdministrationError('invalid', problem)
  const lines = readLines(text)
  const states = await rebindings.examine(lines, issuers)
  const known = lines.filter((_, index) => states[index]?.known)
  const moved = new Set(issuers.issuer === issuers.newIssuer ? known.map(({ from }) => from) : [])
  const problems = lines.flatMap(({ number, to }, index) => {
    const { known: isKnown, taken } = states[index] ?? { known: false, taken: false }
    if (!isKnown) return skipUnknown ? [] : [{ line: number, problem: 'no user is linked to "from"' }]
    // The new subject may be the old one of another line.
    return taken && !moved.has(to) ? [{ line: number, problem: 'a user is linked to "to" already' }] : []
  })
  refuse(problems, 'conflict')
  const rest = (await rebindings.count(issuers.issuer)) - known.length
  return { rebindings: known.map(({ from, to }) => ({ from, to })), skipped: lines.length - known.length, rest }
}

/** Makes all changes of a plan, or none, with one audit event. */
export async function applyRebinding(
  { rebindings: planned }: RebindingPlan,
  { issuer, newIssuer }: Issuers,
  author: Author,
  { rebindings }: RebindingAdministration
): Promise<void> {
  const details = { issuer, ...(newIssuer !== issuer && { newIssuer }), count: planned.length }
  const done = await recordChange({ event: 'identities_rebound', details }, author, (note) =>
    rebindings.rebind(planned, { issuer, newIssuer }, note)
  )
  if (!done)
    throw new AdministrationError('conflict', 'identities were changed meanwhile; nothing was changed, try again')
}

function readLines(text: string): readonly Line[] {
  const problems: Problem[] = []
  const seen = { from: new Map<string, number>(), to: new Map<string, number>() }
  const lines = text.split('\n').flatMap((content, index) => {
    const line = index + 1
    if (content.trim() === '') return []
    const read = readLine(content)
    if ('problem' in read) {
      problems.push({ line, problem: read.problem })
      return []
    }
    for (const member of ['from', 'to'] as const) {
      const earlier = seen[member].get(read[member])
      if (earlier !== undefined) problems.push({ line, problem: `"${member}" is that of line ${earlier}` })
      else seen[member].set(read[member], line)
    }
    return [{ ...read, number: line }]
  })
  refuse(problems, 'invalid')
  if (lines.length === 0) throw new AdministrationError('invalid', 'the file has no lines')
  return lines
}

function readLine(content: string): Rebinding | { problem: string } {
  let value: unknown
  try {
    value = JSON.parse(content)
  } catch {
    return { problem: 'is not JSON' }
  }
  if (typeof value !== 'object' || value === null) return { problem: 'is not an object' }
  const { from, to, ...others } = value as Record<string, unknown>
  if (typeof from !== 'string' || typeof to !== 'string') return { problem: 'needs "from" and "to", both texts' }
  const [other] = Object.keys(others)
  if (other !== undefined) return { problem: `has a member ${JSON.stringify(other)}, which is not known` }
  const wrong = (['from', 'to'] as const).find((member) => problemOfSubject({ from, to }[member]) !== undefined)
  return wrong === undefined ? { from, to } : { problem: `"${wrong}": ${problemOfSubject({ from, to }[wrong])}` }
}

function refuse(problems: readonly Problem[], kind: 'invalid' | 'conflict'): void {
  if (problems.length === 0) return
  const named = problems.slice(0, MOST_NAMED).map(({ line, problem }) => `line ${line}: ${problem}`)
  const more = problems.length > MOST_NAMED ? [`and ${problems.length - MOST_NAMED} more`] : []
  throw new AdministrationError(kind, ['nothing was changed', ...named, ...more].join('\n'))
}
