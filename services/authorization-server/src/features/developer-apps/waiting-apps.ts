import type { Metrics } from '@valetkey/service-kit'
import type { DeveloperAppStore } from './developer-app-store.js'

/** The number of apps that wait for approval, as of the last count: a scrape runs no statement. */
export function createWaitingApps({ countWaiting }: Pick<DeveloperAppStore, 'countWaiting'>) {
  let waiting = 0
  return {
    waiting: () => waiting,
    async count(): Promise<void> {
      waiting = await countWaiting()
    }
  }
}

/** @param apps whose `waiting` is read once a minute */
export function watchApps(metrics: Metrics, apps: { waiting(): number }): void {
  metrics.gauge(
    { name: 'valetkey_apps_waiting', help: 'Apps of users that wait for approval; the same at every process.' },
    () => apps.waiting()
  )
}
