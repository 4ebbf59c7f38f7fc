import { expect, test } from '@jest/globals'
import { passes } from './revocation-model/guard-steps.js'
import { isOver, keyOf } from './revocation-model/sameness.js'
import { newWorld, nextSteps } from './revocation-model/steps.js'
import { type BrokenRule, copyOf, type End, type Left, type World } from './revocation-model/world.js'

/** What the documents promise; a step of the model's clock is part of it. */
const BOUND_MS = 3_000

type Found = { worlds: number; used: number; refused: number; stalest: number; path: string[] | undefined }

/** Every world that can be reached, each once. Stops at the first one that breaks the promise. */
function explore(left: Left, broken?: BrokenRule, end: End = 'token'): Found {
  const start = newWorld(1, left, end)
  const seen = new Set([keyOf(start)])
  const open: { world: World; path: Path }[] = [{ world: start, path: undefined }]
  const found: Found = { worlds: 0, used: 0, refused: 0, stalest: 0, path: undefined }
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { world, path } = next
    found.worlds += 1
    const staleness = judge(world, broken)
    if (passes(world, broken)) found.used += 1
    else if (world.kept !== undefined && world.revokedAt !== undefined) found.refused += 1
    found.stalest = Math.max(found.stalest, staleness)
    if (staleness >= BOUND_MS) return { ...found, path: stepsOf(path) }
    if (isOver(world)) continue
    for (const [name, step] of nextSteps(world, broken)) {
      const after = copyOf(world)
      step(after)
      const key = keyOf(after)
      if (seen.has(key)) continue
      seen.add(key)
      open.push({ world: after, path: { name, before: path } })
    }
  }
  return found
}

type Path = { name: string; before: Path } | undefined

function stepsOf(path: Path): string[] {
  return path === undefined ? [] : [...stepsOf(path.before), path.name]
}

/** For how long, at this moment, a revoked token has been let pass: 0 when it is not. */
function judge(world: World, broken?: BrokenRule): number {
  const fromCache = world.revokedAt !== undefined && passes(world, broken) ? world.now - world.revokedAt : 0
  return Math.max(fromCache, world.stalest)
}

/** Long enough to pass the promise, and each kind of trouble once, at any moment, in any order with all else. */
const LEFT: Left = { ticks: 4, nonces: 2, calls: 1, listens: 1, connects: 1, faults: 1 }

/** The end of a user adds steps of its own: with fewer of the others there are as many worlds. */
const LESS: Left = { ticks: 4, nonces: 2, calls: 1, listens: 0, connects: 0, faults: 0 }

test.each<{ end: End; left: Left }>([
  { end: 'token', left: LEFT },
  { end: 'user', left: LESS },
  { end: 'table', left: LESS }
])(
  'in every order of events and faults, no revoked token is let pass three seconds after its revocation: $end',
  ({ end, left }) => {
    const found = explore(left, undefined, end)
    expect(found.path).toBeUndefined()
    expect(found.stalest).toBeLessThan(BOUND_MS)
    // It says something: kept answers were used before the revocation and for a while after it.
    expect(found.stalest).toBeGreaterThan(0)
    expect(found.used).toBeGreaterThan(100)
  }
)

const FEW: Left = { ticks: 4, nonces: 2, calls: 1, listens: 0, connects: 0, faults: 1 }

test.each([
  { name: 'the lease counts from the return of the nonce', broken: 'lease_from_receipt', left: FEW },
  { name: 'kept answers are used without a lease', broken: 'no_lease', left: { ...FEW, nonces: 1 } },
  { name: 'nonces are echoed without having been through Postgres', broken: 'echo_past_postgres', left: FEW },
  {
    name: 'what was kept is used on the next connection',
    broken: 'kept_over_reconnect',
    left: { ...FEW, connects: 1 }
  },
  {
    name: 'an answer is kept though its token died meanwhile',
    broken: 'kept_despite_events',
    left: { ...FEW, faults: 0 }
  },
  { name: 'a lost event goes unnoticed', broken: 'gaps_ignored', left: { ...FEW, nonces: 3 } },
  {
    name: 'the transaction that ends a user lists the audiences',
    broken: 'audiences_listed_at_ending',
    left: { ...FEW, nonces: 3, faults: 0 },
    end: 'user'
  },
  {
    name: 'a proof overtakes an event that waits for an answer',
    broken: 'proofs_overtake',
    left: { ...FEW, nonces: 3, faults: 0 },
    end: 'user'
  }
] as { name: string; broken: BrokenRule; left: Left; end?: End }[])(
  'the model finds what goes wrong when $name',
  ({ broken, left, end }) => {
    expect(explore(left, broken, end).path).toContain('revoke')
  }
)
