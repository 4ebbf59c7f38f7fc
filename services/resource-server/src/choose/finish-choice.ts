import type { SelectionStore } from '../storage/selections.js'
import type { Choice } from './choice.js'
import type { HandOvers } from './hand-overs.js'

export type FinishOutcome =
  | { kind: 'finished'; returnTo: string; selectionId: string }
  | { kind: 'nothing_chosen' }
  /** The draft was deleted. */
  | { kind: 'unknown_draft' }
  /** The user decided in another window, or the app has no access any more. */
  | { kind: 'request_ended' }

type Deps = {
  handOvers: Pick<HandOvers, 'finish'>
  selections: Pick<SelectionStore, 'count' | 'publish' | 'replace' | 'remove'>
  newId: () => string
  /** The text for the user, from the number of files of each kind. */
  summarize: (counts: Readonly<Record<string, number>>) => string
}

/**
 * Makes the draft a selection and reports it. Each time a new one, so that the user allows exactly the files that the consent
 * page counted; a selection that the user changes keeps its id, which tokens have. The draft stays, so that this can be repeated.
 * @throws {HandOversUnavailable} nothing is lost
 */
export async function finishChoice(choice: Choice, deps: Deps): Promise<FinishOutcome> {
  const { handOvers, selections } = deps
  const counts = await selections.count(choice)
  if (counts === undefined) return { kind: 'unknown_draft' }
  if (Object.keys(counts).length === 0) return { kind: 'nothing_chosen' }
  const isChange = choice.identifier !== undefined
  const identifier = choice.identifier ?? deps.newId()
  // Before the report: the identifier of a report must lead to files.
  if (isChange) await selections.replace(choice, identifier)
  else await selections.publish(choice, identifier)
  const returnTo = await handOvers.finish(choice.handOver, { identifier, summary: deps.summarize(counts) })
  if (returnTo !== undefined) return { kind: 'finished', returnTo, selectionId: identifier }
  if (!isChange) await selections.remove(choice.ownerId, identifier)
  return { kind: 'request_ended' }
}
