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

export type WaitingApps = ReturnType<typeof createWaitingApps>
