/**
 * The origin of a password: its network, its address group, the canonical name of the account, and whether the browser has signed in to the
 * account before (a known browser).
 */
export type HashingOrigin = { network: string; group: string; account: string; isKnown: boolean }

type Waiting<Job> = { job: Job; cost: number }

/**
 * The jobs of all origins, one network, one address group or one account.
 * @property start the virtual time from which its next job counts
 * @property time virtual time of its parts: the end of the job that was taken last
 */
type Branch<Job> = { start: number; time: number; parts: Map<string, Branch<Job>>; jobs: Waiting<Job>[] }

/** After so many known browsers, one other has its turn, so that the owner of one account cannot block all others. */
const KNOWN_IN_A_ROW = 3

/**
 * The order in which passwords are hashed: known browsers first; then fair between networks, within one between address groups,
 * within one between accounts. Fair by cost and not by number (self-clocked fair queuing): the part whose next job would end first
 * comes next, so slow hashes of some accounts delay the fast hash of another by no more than its own cost. Pure.
 */
export function createHashingOrder<Job>() {
  const known = newBranch<Job>(0)
  const others = newBranch<Job>(0)
  let knownInARow = 0
  const branchOf = ({ isKnown }: HashingOrigin): Branch<Job> => (isKnown ? known : others)

  return {
    add(origin: HashingOrigin, job: Job, cost: number): void {
      let branch = branchOf(origin)
      for (const name of pathOf(origin)) {
        const part = branch.parts.get(name) ?? newBranch<Job>(branch.time)
        branch.parts.set(name, part)
        branch = part
      }
      branch.jobs.push({ job, cost })
    },

    /** Removes a job that still waits. */
    remove(origin: HashingOrigin, job: Job): void {
      removeFrom(branchOf(origin), pathOf(origin), job)
    },

    next(): Job | undefined {
      const isOthersTurn = isEmpty(known) || (knownInARow >= KNOWN_IN_A_ROW && !isEmpty(others))
      knownInARow = isOthersTurn ? 0 : Math.min(KNOWN_IN_A_ROW, knownInARow + 1)
      return takeFrom(isOthersTurn ? others : known)?.job
    },

    /** Number of waiting jobs of the same class (known browsers or others). */
    waitingLike: (origin: HashingOrigin): number => sizeOf(branchOf(origin)),

    isFirstOfNetwork: (origin: HashingOrigin): boolean => !branchOf(origin).parts.has(origin.network),

    waiting: (): number => sizeOf(known) + sizeOf(others)
  }
}

const pathOf = ({ network, group, account }: HashingOrigin): readonly string[] => [network, group, account]

const newBranch = <Job>(start: number): Branch<Job> => ({ start, time: 0, parts: new Map(), jobs: [] })

const isEmpty = <Job>({ parts, jobs }: Branch<Job>): boolean => parts.size === 0 && jobs.length === 0

function takeFrom<Job>(branch: Branch<Job>): Waiting<Job> | undefined {
  const first = firstPart(branch)
  if (first === undefined) return branch.jobs.shift()
  const [name, part, end] = first
  const taken = takeFrom(part)
  part.start = end
  branch.time = end
  // Its next place is behind the others that end at the same time.
  branch.parts.delete(name)
  if (!isEmpty(part)) branch.parts.set(name, part)
  return taken
}

/** The part whose next job would end first, and that end in virtual time. */
function firstPart<Job>(branch: Branch<Job>): readonly [string, Branch<Job>, number] | undefined {
  let first: readonly [string, Branch<Job>, number] | undefined
  for (const [name, part] of branch.parts) {
    const end = part.start + nextCost(part)
    if (first === undefined || end < first[2]) first = [name, part, end]
  }
  return first
}

function nextCost<Job>(branch: Branch<Job>): number {
  const [, part] = firstPart(branch) ?? []
  return part === undefined ? (branch.jobs[0]?.cost ?? 0) : nextCost(part)
}

function removeFrom<Job>(branch: Branch<Job>, [name, ...rest]: readonly string[], job: Job): void {
  if (name === undefined) {
    const index = branch.jobs.findIndex((waiting) => waiting.job === job)
    if (index >= 0) branch.jobs.splice(index, 1)
    return
  }
  const part = branch.parts.get(name)
  if (part === undefined) return
  removeFrom(part, rest, job)
  if (isEmpty(part)) branch.parts.delete(name)
}

function sizeOf<Job>({ parts, jobs }: Branch<Job>): number {
  let size = jobs.length
  for (const part of parts.values()) size += sizeOf(part)
  return size
}
