import { type Client, type FormParameters, lifetimesOf, type TokenLifetimes } from '@valetkey/oauth-protocol'
import {
  type AccessChoice,
  type AccessChoices,
  type AccessEnds,
  type ChosenEnd,
  END_FIELD,
  type EndQuestion
} from '../../platform/access-ends.js'
import type { Language, Message } from '../../platform/i18n/language.js'
import type { ConnectedApp } from '../../storage/postgres/connected-apps.js'

/**
 * Ends of access that users choose at Allow.
 * @param lifetimes of the server
 * @param shorteningUrl of the page that makes the end of an app's access earlier
 */
export function createAccessEnds(
  { choices, preselected }: AccessChoices,
  lifetimes: TokenLifetimes,
  shorteningUrl: string
): AccessEnds {
  const offeredTo = (client: Client) => choicesWithin(choices, longestAccess(client, lifetimes))
  return {
    valuesFor(client) {
      const most = longestAccess(client, lifetimes)
      return offeredTo(client).map(({ value, seconds = most }) => `${value} ${seconds}`)
    },

    ask(client, language, sent): EndQuestion | undefined {
      const offered = offeredTo(client)
      if (offered.length === 0) return undefined
      const most = longestAccess(client, lifetimes)
      const selected = sent === undefined ? selectedFor(client, offered, preselected) : sent.get(END_FIELD)
      const shown = offered.map((choice) => {
        const { value } = choice
        return { value, label: labelOf(choice, most, language), isSelected: value === selected }
      })
      const advice = client.issuesRefreshTokens ? 'choices.away' : 'choices.once'
      return { title: 'choices.title', advice, choices: shown }
    },

    read: (form, client) => readChosen(form, offeredTo(client)),

    shorteningUrl: (app, now) =>
      shorterChoices(choices, app, now).length === 0
        ? undefined
        : `${shorteningUrl}?${new URLSearchParams({ client_id: app.clientId })}`
  }
}

/** Seconds: how long a client has access at most, if the user does not end it. */
function longestAccess(client: Client, server: TokenLifetimes): number {
  const { accessToken, refreshTokenMax } = lifetimesOf(client, server)
  return client.issuesRefreshTokens ? refreshTokenMax : accessToken
}

/**
 * The choices that are not longer than this. One of just this length means the same as `until_ended`, which is omitted then. Empty if
 * only the longest is left: it is what the client gets without a choice.
 */
function choicesWithin(choices: readonly AccessChoice[], most: number): readonly AccessChoice[] {
  const hasLongest = choices.some(({ seconds }) => seconds === most)
  const within = choices.filter(({ seconds }) => (seconds === undefined ? !hasLongest : seconds <= most))
  return within.every(({ seconds = most }) => seconds === most) ? [] : within
}

/** An app whose name no operator knows gets the shortest access, unless the user decides otherwise. */
function selectedFor(
  client: Client,
  offered: readonly AccessChoice[],
  preselected: string | undefined
): string | undefined {
  return client.isDiscovered === true || offered.length === 1 ? offered[0]?.value : preselected
}

export function labelOf({ seconds }: AccessChoice, most: number, language: Language): Message {
  return seconds === undefined
    ? { key: 'choices.until_ended', values: { time: language.duration(most) } }
    : { key: 'choices.for', values: { time: language.duration(seconds) } }
}

export function readChosen(form: FormParameters, offered: readonly AccessChoice[]): ChosenEnd {
  if (offered.length === 0) return { kind: 'not_asked' }
  if (form.isRepeated(END_FIELD) || form.isMalformed(END_FIELD)) return { kind: 'not_offered' }
  const value = form.get(END_FIELD)
  if (value === undefined) return { kind: 'nothing_chosen' }
  const chosen = offered.find((choice) => choice.value === value)
  return chosen === undefined ? { kind: 'not_offered' } : { kind: 'chosen', seconds: chosen.seconds }
}

/** What says when an app's access ends. */
type EndingAccess = Pick<ConnectedApp, 'live' | 'endsAt' | 'refreshableUntil'>

/**
 * Choices that make the end of an app's access earlier. None for an app that cannot get new access tokens: its token would end at
 * once, so the user can as well end the access.
 */
export function shorterChoices(
  choices: readonly AccessChoice[],
  { live, endsAt, refreshableUntil }: EndingAccess,
  now: Date
): readonly AccessChoice[] {
  const end = endsAt ?? refreshableUntil
  if (!live || refreshableUntil === undefined || end === undefined) return []
  return choices.filter(({ seconds }) => seconds !== undefined && now.getTime() + seconds * 1000 < end.getTime())
}
