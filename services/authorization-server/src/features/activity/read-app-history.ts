import type { AppHistory, UsedAction } from '../../browser/account/app-history.js'
import type { Language } from '../../platform/i18n/language.js'
import type { AppUseStore, UsedActionOfApp } from './app-use-store.js'

/** What apps did, in words. */
export function readAppHistory(appUses: Pick<AppUseStore, 'list'>): AppHistory {
  return {
    async read(userId, language, now) {
      const history = new Map<string, UsedAction[]>()
      for (const used of await appUses.list(userId)) {
        const ofApp = history.get(used.clientId) ?? []
        ofApp.push(describe(used, language, now))
        history.set(used.clientId, ofApp)
      }
      return history
    }
  }
}

/**
 * The time since the last use is right in every time zone. Counts are sums of days in UTC, so they have a date: the "yesterday" of the
 * server is not that of every user.
 */
function describe(
  { title, translations, total, lastAt, days }: UsedActionOfApp,
  language: Language,
  now: Date
): UsedAction {
  const ago = language.ago((now.getTime() - lastAt.getTime()) / 1_000)
  const ofDays = days.map(({ day, count }) => ({ key: 'activity.day', values: { count, date: day } }))
  // The sum says nothing more if there is only one day.
  const sums = days.length > 1 ? [{ key: 'activity.total', values: { count: total } }] : []
  return {
    title: translations[language.tag] ?? title,
    ago,
    last: { key: 'activity.last', values: { ago } },
    counts: [...ofDays, ...sums].map((words) => ({ words }))
  }
}
