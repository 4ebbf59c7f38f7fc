/**
 * What requests ask for within one turn of the event loop goes to the database as one list, and as long as `atOnce` lists are
 * under way the next one grows.
 * @param run takes a list of questions, hands back their answers in the same order
 */
export function coalesce(run, { atOnce = 2, most = 128 } = {}) {
  const waiting = []
  let underWay = 0
  let isPlanned = false

  function plan() {
    if (isPlanned || underWay >= atOnce || waiting.length === 0) return
    isPlanned = true
    setImmediate(send)
  }

  async function send() {
    isPlanned = false
    const batch = waiting.splice(0, most)
    underWay++
    // More may have come than one list holds.
    plan()
    try {
      const answers = await run(batch.map(({ question }) => question))
      batch.forEach(({ resolve }, index) => {
        resolve(answers[index])
      })
    } catch (error) {
      for (const { reject } of batch) reject(error)
    } finally {
      underWay--
      plan()
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject })
      plan()
    })
}
