import type { Language, Message } from '../../platform/i18n/language.js'

/** One kind of use that an app made of a user's account, in words. */
export type UsedAction = {
  title: string
  /** The time since the last use: `12 minutes ago`. */
  ago: string
  /** The same, as a sentence. */
  last: Message
  counts: readonly { words: Message }[]
}

/** What apps did with the access that users gave them. */
export type AppHistory = {
  /** @returns by client id; the newest use of each app first */
  read(userId: string, language: Language, now: Date): Promise<ReadonlyMap<string, readonly UsedAction[]>>
}
