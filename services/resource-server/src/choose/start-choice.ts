import type { SelectionStore } from '../storage/selections.js'
import type { Choice } from './choice.js'
import type { HandOvers } from './hand-overs.js'

type Deps = {
  handOvers: HandOvers
  selections: Pick<SelectionStore, 'open'>
  /** The id of the selection that this browser made for the same request before. */
  lastChoice: (started: Pick<Choice, 'ownerId' | 'returnTo'>) => string | undefined
  newId: () => string
  now: () => Date
}

/** As the authorization server makes them. */
const HAND_OVER = /^[\w-]{43}$/
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Starts a hand-over and makes a draft: empty, or with the files of the selection that the user changes or made before.
 * @returns undefined if the hand-over is unknown or was started before
 */
export async function startChoice(handOver: string, deps: Deps): Promise<Choice | undefined> {
  if (!HAND_OVER.test(handOver)) return undefined
  const started = await deps.handOvers.start(handOver)
  if (started === undefined) return undefined
  const { expiresIn, ...rest } = started
  const { ownerId, identifier } = rest
  const draftId = deps.newId()
  const presentId = identifier ?? deps.lastChoice(rest)
  await deps.selections.open(
    { draftId, ownerId },
    presentId !== undefined && UUID.test(presentId) ? presentId : undefined
  )
  return { ...rest, draftId, handOver, expiresAt: deps.now().getTime() + expiresIn * 1000 }
}
