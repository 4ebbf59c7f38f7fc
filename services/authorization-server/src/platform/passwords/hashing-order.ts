/**
 * The origin of a password: its address group and network, and whether the browser has signed in to the account before (a known
 * browser).
 */
export type HashingTurn = { network: string; group: string; isKnown: boolean }

/** Jobs by address group, by network. */
type Network<Job> = Map<string, Job[]>
type Networks<Job> = Map<string, Network<Job>>

/** After so many known browsers, one other has its turn, so that the owner of one account cannot block all others. */
const KNOWN_IN_A_ROW = 3

/**
 * The order in which passwords are hashed: known browsers first; then each network in turn, and within it each address group in
 * turn. So a flood from one address delays others by one hash, a flood from all addresses of a network delays other networks by
 * one hash, and a flood from many networks hardly delays known browsers. Pure.
 */
export function createHashingOrder<Job>() {
  const known: Networks<Job> = new Map()
  const others: Networks<Job> = new Map()
  let knownInARow = 0
  const networksOf = ({ isKnown }: HashingTurn): Networks<Job> => (isKnown ? known : others)

  return {
    add(turn: HashingTurn, job: Job): void {
      const networks = networksOf(turn)
      const network = networks.get(turn.network) ?? new Map<string, Job[]>()
      networks.set(turn.network, network)
      const jobs = network.get(turn.group)
      if (jobs === undefined) network.set(turn.group, [job])
      else jobs.push(job)
    },

    next(): Job | undefined {
      const isOthersTurn = known.size === 0 || (knownInARow >= KNOWN_IN_A_ROW && others.size > 0)
      knownInARow = isOthersTurn ? 0 : Math.min(KNOWN_IN_A_ROW, knownInARow + 1)
      return takeFrom(isOthersTurn ? others : known)
    },

    /** Maximum number of waiting jobs that come before a job that is added now. */
    ahead(turn: HashingTurn): number {
      const networks = networksOf(turn)
      const ownNetwork = networks.get(turn.network) ?? new Map<string, Job[]>()
      // Each round takes one job of each group; the new job is in the round after all jobs of its own group. The same applies to
      // networks.
      const own = ownNetwork.get(turn.group)?.length ?? 0
      let before = 0
      for (const jobs of ownNetwork.values()) before += Math.min(jobs.length, own + 1)
      const ownRounds = before + 1
      for (const network of networks.values()) {
        if (network !== ownNetwork) before += Math.min(sizeOf(network), ownRounds)
      }
      return turn.isKnown
        ? before + Math.min(sizeOfAll(others), Math.floor((knownInARow + before) / KNOWN_IN_A_ROW))
        : before + Math.min(sizeOfAll(known), KNOWN_IN_A_ROW * (before + 1))
    },

    /** Number of waiting jobs of the same class (known browsers or others). */
    waitingLike: (turn: HashingTurn): number => sizeOfAll(networksOf(turn)),

    isFirstOfNetwork: (turn: HashingTurn): boolean => !networksOf(turn).has(turn.network),

    waiting: (): number => sizeOfAll(known) + sizeOfAll(others)
  }
}

function takeFrom<Job>(networks: Networks<Job>): Job | undefined {
  return takeFirst(
    networks,
    (network) =>
      takeFirst(
        network,
        (jobs) => jobs.shift(),
        (jobs) => jobs.length === 0
      ),
    (network) => network.size === 0
  )
}

/** Takes from the first entry and moves it to the end. */
function takeFirst<Entry, Job>(
  entries: Map<string, Entry>,
  take: (entry: Entry) => Job | undefined,
  isEmpty: (entry: Entry) => boolean
): Job | undefined {
  for (const [name, entry] of entries) {
    const job = take(entry)
    entries.delete(name)
    if (!isEmpty(entry)) entries.set(name, entry)
    return job
  }
  return undefined
}

function sizeOf<Job>(network: Network<Job>): number {
  let size = 0
  for (const jobs of network.values()) size += jobs.length
  return size
}

function sizeOfAll<Job>(networks: Networks<Job>): number {
  let size = 0
  for (const network of networks.values()) size += sizeOf(network)
  return size
}
