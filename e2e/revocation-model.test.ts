import { expect, test } from '@jest/globals'
import { passes } from './revocation-model/guard-steps.js'
import { isFinished, keyOf } from './revocation-model/sameness.js'
import { newWorld, nextSteps } from './revocation-model/steps.js'
import { type BrokenRule, copyOf, type End, type Left, type World } from './revocation-model/world.js'

/** The documented limit; it includes one step of the model's clock. */
const BOUND_MS = 3_000

type Exploration = { worlds: number; used: number; refused: number; stalest: number; path: string[] | undefined }

/** Visits every reachable world once. Stops at the first violation of the limit. */
function explore(left: Left, broken?: BrokenRule, end: End = 'token'): Exploration {
  const start = newWorld(1, left, end)
  const seen = new Set([keyOf(start)])
  const open: { world: World; path: Path }[] = [{ world: start, path: undefined }]
  const found: Exploration = { worlds: 0, used: 0, refused: 0, stalest: 0, path: undefined }
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { world, path } = next
    found.worlds += 1
    const staleness = stalenessOf(world, broken)
    if (passes(world, broken)) found.used += 1
    else if (world.cached !== undefined && world.revokedAt !== undefined) found.refused += 1
    found.stalest = Math.max(found.stalest, staleness)
    if (staleness >= BOUND_MS) return { ...found, path: stepsOf(path) }
    if (isFinished(world)) continue
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

/** How long ago the token was revoked, if the guard accepts it in this world, or has accepted it; else 0. */
function stalenessOf(world: World, broken?: BrokenRule): number {
  const fromCache = world.revokedAt !== undefined && passes(world, broken) ? world.now - world.revokedAt : 0
  return Math.max(fromCache, world.stalest)
}

/** Enough ticks to exceed the limit, and each kind of fault once, at any time. */
const LEFT: Left = { ticks: 4, nonces: 2, calls: 1, listens: 1, connects: 1, faults: 1 }

/** The end of a user adds steps, so fewer of the others keep the number of worlds similar. */
const LESS: Left = { ticks: 4, nonces: 2, calls: 1, listens: 0, connects: 0, faults: 0 }

test.each<{ end: End; left: Left }>([
  { end: 'token', left: LEFT },
  { end: 'user', left: LESS },
  { end: 'table', left: LESS }
])('in every order of events and faults, a revoked token is refused within three seconds: $end', ({ end, left }) => {
  const found = explore(left, undefined, end)
  expect(found.path).toBeUndefined()
  expect(found.stalest).toBeLessThan(BOUND_MS)
  // The model is not empty: cached responses were used before the revocation and for a while after it.
  expect(found.stalest).toBeGreaterThan(0)
  expect(found.used).toBeGreaterThan(100)
})

const FEW: Left = { ticks: 4, nonces: 2, calls: 1, listens: 0, connects: 0, faults: 1 }

test.each([
  { name: 'the lease begins when the nonce returns', broken: 'lease_from_receipt', left: FEW },
  { name: 'cached results are used without a lease', broken: 'no_lease', left: { ...FEW, nonces: 1 } },
  { name: 'a server returns nonces without sending them through Postgres', broken: 'echo_past_postgres', left: FEW },
  {
    name: 'cached results are used after a reconnection',
    broken: 'kept_over_reconnect',
    left: { ...FEW, connects: 1 }
  },
  {
    name: 'a result is cached although its token was revoked during the call',
    broken: 'kept_despite_events',
    left: { ...FEW, faults: 0 }
  },
  { name: 'a lost event is not noticed', broken: 'gaps_ignored', left: { ...FEW, nonces: 3 } },
  {
    name: 'the transaction that ends a user lists the audiences',
    broken: 'audiences_listed_at_ending',
    left: { ...FEW, nonces: 3, faults: 0 },
    end: 'user'
  },
  {
    name: 'a proof is sent before an event that waits for its audiences',
    broken: 'proofs_overtake',
    left: { ...FEW, nonces: 3, faults: 0 },
    end: 'user'
  }
] as { name: string; broken: BrokenRule; left: Left; end?: End }[])(
  'the model finds the violation if $name',
  ({ broken, left, end }) => {
    expect(explore(left, broken, end).path).toContain('revoke')
  }
)
