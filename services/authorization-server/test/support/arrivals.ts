import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setImmediate as turn } from 'node:timers/promises'

const ARRIVED = 'http.server.request.start'

/** Counts the HTTP requests that arrive at the servers of this process, from now on until `stop`. */
export function countArrivals() {
  let count = 0
  const add = () => {
    count += 1
  }
  subscribe(ARRIVED, add)
  return {
    async until(wanted: number): Promise<void> {
      while (count < wanted) await turn()
    },
    stop: () => unsubscribe(ARRIVED, add)
  }
}
