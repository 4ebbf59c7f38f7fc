/**
 * Sends the queries of one turn of the event loop to the database as one list. While `atOnce` lists are in progress, new
 * queries are added to the next list.
 * @param run takes a list of queries and returns their results in the same order
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
    // There may be more queries than fit in one list.
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
