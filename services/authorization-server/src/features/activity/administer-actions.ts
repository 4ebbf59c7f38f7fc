import type { Author } from '../../operator/use-cases/actor.js'
import { AdministrationError } from '../../operator/use-cases/administration-error.js'
import { requireName } from '../../operator/use-cases/name-of-record.js'
import { recordChange } from '../../operator/use-cases/record-change.js'
import { type ApiAction, type ApiActionStore, sorted } from './api-action-store.js'
import { ACTION_NAME } from './read-report.js'

export type ActionAdministration = { apiActions: ApiActionStore }

/** What operators see of an API. */
export type ActionsDocument = { client_id: string; audience: string; actions: readonly ApiAction[] }

const MOST_ACTIONS = 20
const MOST_TRANSLATIONS = 50
const LANGUAGE = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/

export async function readActions(clientId: string, { apiActions }: ActionAdministration): Promise<ActionsDocument> {
  const found = await apiActions.find(clientId)
  if (found === undefined) throw new AdministrationError('not_found', `there is no resource server ${clientId}`)
  return { client_id: clientId, audience: found.audience, actions: found.actions }
}

/**
 * Declares what an API reports, for all of its credentials. What was counted for an action that is no longer declared is not shown,
 * until it is declared again or expires.
 * @param change makes the new list from the present one
 * @throws {AdministrationError} `invalid`, or `conflict` if another command changes the list at the same time
 */
export async function changeActions(
  clientId: string,
  change: (actions: readonly ApiAction[]) => readonly ApiAction[],
  author: Author,
  deps: ActionAdministration
): Promise<ActionsDocument> {
  const { audience, actions: former } = await readActions(clientId, deps)
  const actions = requireActions(change(former))
  if (JSON.stringify(actions) !== JSON.stringify(former)) {
    const details = { audience, changes: { actions: { from: former, to: actions } } }
    const event = { event: 'resource_server_updated', clientId, details } as const
    const done = await recordChange(event, author, (note) =>
      deps.apiActions.replace(clientId, { former, actions }, note)
    )
    if (!done) {
      const problem = 'the actions are being changed by another command; try again'
      throw new AdministrationError('conflict', problem)
    }
  }
  return { client_id: clientId, audience, actions }
}

/** @returns in the order of names. @throws {AdministrationError} `invalid` */
export function requireActions(actions: readonly ApiAction[]): readonly ApiAction[] {
  if (actions.length > MOST_ACTIONS) throw invalid(`an API may have at most ${MOST_ACTIONS} actions`)
  const names = new Set(actions.map(({ name }) => name))
  if (names.size < actions.length) throw invalid('each action must be given once')
  return actions.map(requireAction).toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

function requireAction({ name, title, translations }: ApiAction): ApiAction {
  if (!ACTION_NAME.test(name)) {
    throw invalid('the name of an action must have 1 to 64 characters of a-z 0-9 _, a letter first')
  }
  const given = Object.entries(translations)
  const unknown = given.find(([language]) => !LANGUAGE.test(language))
  if (unknown !== undefined) throw invalid(`${JSON.stringify(unknown[0])} is not a language tag, such as de or pt-BR`)
  if (given.length > MOST_TRANSLATIONS) throw invalid(`an action may have at most ${MOST_TRANSLATIONS} translations`)
  return {
    name,
    title: requireName(title, 'a title'),
    translations: sorted(Object.fromEntries(given.map(([tag, text]) => [tag, requireName(text, 'a title')])))
  }
}

function invalid(message: string): AdministrationError {
  return new AdministrationError('invalid', message)
}
