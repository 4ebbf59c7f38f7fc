import { performance } from 'node:perf_hooks'

const TURN_MS = 2

/**
 * So many requests a second, whatever the answers take, until it is stopped. Each is timed from the moment in which it was
 * due, so that one that waits for the sender counts as slow, too.
 */
export function steadyLoad(send, perSecond) {
  const begun = performance.now()
  const answers = []
  const underWay = new Set()
  let sent = 0
  let failure
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - begun) / 1_000) * perSecond)
    while (sent < due) one(sent++)
  }, TURN_MS)

  function one(number) {
    const dueAt = begun + (number / perSecond) * 1_000
    const answered = send(number)
      .then(() => answers.push({ dueAt, milliseconds: performance.now() - dueAt }))
      .catch((error) => {
        failure ??= error
      })
      .finally(() => underWay.delete(answered))
    underWay.add(answered)
  }

  return {
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
      if (failure !== undefined) throw failure
    },
    /** The time that 99 of 100 requests stayed below, of those that were due between two moments. */
    p99(from, to) {
      const times = answers.filter(({ dueAt }) => dueAt >= from && dueAt <= to).map(({ milliseconds }) => milliseconds)
      return times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1]
    }
  }
}
