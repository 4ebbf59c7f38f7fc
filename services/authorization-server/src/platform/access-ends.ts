import type { Client, FormParameters } from '@valetkey/oauth-protocol'
import type { ConnectedApp } from '../storage/postgres/connected-apps.js'
import type { Language, Message } from './i18n/language.js'

/** @property seconds from Allow to the end of the access; undefined: until the user ends it */
export type AccessChoice = { value: string; seconds: number | undefined }

/** The field of forms with the choice of an end. */
export const END_FIELD = 'access_ends'

export type AccessChoices = {
  /** The shortest first. Empty: the feature is off. */
  choices: readonly AccessChoice[]
  /** The value that is selected in advance for registered clients; undefined: none. */
  preselected: string | undefined
}

/** What the consent page asks, and its form then has in the field `END_FIELD`. */
export type EndQuestion = {
  /** Keys of the messages of the group. */
  title: string
  advice: string
  choices: readonly { value: string; label: Message; isSelected: boolean }[]
}

export type ChosenEnd =
  /** The page did not ask. */
  | { kind: 'not_asked' }
  /** @property seconds from Allow to the end of the access; undefined: until the user ends it */
  | { kind: 'chosen'; seconds: number | undefined }
  | { kind: 'nothing_chosen' }
  /** A value that the page did not have, or two. */
  | { kind: 'not_offered' }

/** Lets users choose when the access of an app ends. Without it, no page asks, and access ends by the lifetimes of the client. */
export type AccessEnds = {
  /** The choices with their lengths, to recognise a page whose choices have changed since. Empty: the page does not ask. */
  valuesFor: (client: Client) => readonly string[]
  /** @param sent the form of a page that is shown again, with what the user chose. @returns undefined: the page does not ask */
  ask: (client: Client, language: Language, sent: FormParameters | undefined) => EndQuestion | undefined
  read: (form: FormParameters, client: Client) => ChosenEnd
  /** @returns the address of a page that makes the end of the access earlier; undefined if it cannot be */
  shorteningUrl: (app: ConnectedApp, now: Date) => string | undefined
}
