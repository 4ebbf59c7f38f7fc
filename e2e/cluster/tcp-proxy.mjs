// A link between two processes that a test can cut, or make go silent without a word to either side.
import { connect, createServer } from 'node:net'

/**
 * @param counted what to count in what comes from the near side
 * @returns the proxy in front of a port of this machine
 */
export async function startTcpProxy(targetPort, counted = /(?!)/g) {
  const links = new Set()
  let count = 0
  let losses
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1')
    const link = { near, far, silent: false, loses: false, said: '' }
    links.add(link)
    relay(link, near, far, (bytes) => {
      const text = bytes.toString('latin1')
      // How it began, and what came last.
      if (link.said.length < 4_000) link.said += text
      else link.said = link.said.slice(0, 4_000) + (link.said.slice(4_000) + text).slice(-2_000)
      count += text.match(counted)?.length ?? 0
      if (losses?.words.test(text) && losses.asked++ % 2 === 0) link.loses = true
    })
    relay(link, far, near, () => {
      // What was asked has been carried out; its answer goes with the connection.
      if (link.loses) end()
    })
    const end = () => {
      links.delete(link)
      near.destroy()
      far.destroy()
    }
    // Neither side must feel that it is there.
    for (const socket of [near, far])
      socket
        .setNoDelay(true)
        .on('error', () => {})
        .on('close', end)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    port: server.address().port,
    count: () => count,
    /** Ends every connection, as a network that resets them would. New ones are let through. */
    cut() {
      for (const { near, far } of links) {
        near.resetAndDestroy()
        far.destroy()
      }
    },
    /** Swallows what either side says on connections over which these words have gone. They stay open. */
    silence(words) {
      const silenced = [...links].filter(({ said }) => words.test(said))
      for (const link of silenced) link.silent = true
      return silenced.length
    },
    /** From now on the answer to every second question with these words is lost, and its connection ends. */
    loseAnswers(words) {
      losses = { words, asked: 0 }
    },
    /** From now on nothing is lost. @returns how many answers were */
    stopLosing() {
      const lost = Math.ceil((losses?.asked ?? 0) / 2)
      losses = undefined
      return lost
    },
    async close() {
      // First, so that no link comes after those that are ended.
      const closed = new Promise((resolve) => server.close(resolve))
      for (const { near, far } of links) {
        near.destroy()
        far.destroy()
      }
      await closed
    }
  }
}

function relay(link, from, to, listen) {
  from.on('data', (bytes) => {
    listen(bytes)
    if (!link.silent && !to.destroyed) to.write(bytes)
  })
}
