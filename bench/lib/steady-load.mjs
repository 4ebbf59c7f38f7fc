import { performance } from 'node:perf_hooks'

const TURN_MS = 2

/**
 * Sends a constant rate of requests until stopped, independent of response times. Each request is measured from its due
 * time, so that a delay in the sender counts as well.
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
    /** The p99 of the requests that were due between two times. */
    p99(from, to) {
      const times = answers.filter(({ dueAt }) => dueAt >= from && dueAt <= to).map(({ milliseconds }) => milliseconds)
      return times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1]
    }
  }
}
