// A TCP proxy that a test can disconnect or make silent without closing the connection.
import { connect, createServer } from 'node:net'
import { listenOnLoopback } from '../../../packages/dev-stack/lib/processes/listen.mjs'

/** @import { Socket } from 'node:net' */
/** @typedef {Awaited<ReturnType<typeof startTcpProxy>>} TcpProxy */
/** @typedef {{ near: Socket, far: Socket, silent: boolean, loses: boolean, said: string }} Link */

/**
 * @returns a proxy before a port of this machine
 * @param {number} targetPort
 * @param {RegExp} [counted] the text to count in the data of the client
 */
export async function startTcpProxy(targetPort, counted = /(?!)/g) {
  let target = targetPort
  /** @type {Set<Link>} */
  const links = new Set()
  let count = 0
  /** @type {{ words: RegExp, asked: number } | undefined} */
  let losses
  let delayMs = 0
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    const link = { near, far, silent: false, loses: false, said: '' }
    links.add(link)
    const delayOf = () => Math.random() * delayMs
    relay(link, { from: near, to: far, delayOf }, (bytes) => {
      const text = bytes.toString('latin1')
      // The first and the latest data of the connection.
      if (link.said.length < 4_000) link.said += text
      else link.said = link.said.slice(0, 4_000) + (link.said.slice(4_000) + text).slice(-2_000)
      count += text.match(counted)?.length ?? 0
      if (losses?.words.test(text) && losses.asked++ % 2 === 0) link.loses = true
    })
    relay(link, { from: far, to: near, delayOf }, () => {
      // The server has executed the query. Its response is lost with the connection.
      if (link.loses) end()
    })
    const end = () => {
      links.delete(link)
      near.destroy()
      far.destroy()
    }
    // The proxy must not add a delay of its own.
    for (const socket of [near, far])
      socket
        .setNoDelay(true)
        .on('error', () => {})
        .on('close', end)
  })
  const port = await listenOnLoopback(server)

  return {
    port,
    count: () => count,
    /**
     * New connections go to this port.
     * @param {number} port
     */
    pointTo(port) {
      target = port
    },
    /**
     * Delays all data by a random time up to this one, without changing its order.
     * @param {number} milliseconds
     */
    delay(milliseconds) {
      delayMs = milliseconds
    },
    /** Resets every connection. New connections work. */
    cut() {
      for (const { near, far } of links) {
        near.resetAndDestroy()
        far.destroy()
      }
    },
    /**
     * Drops all further data on connections that carried this text. They stay open.
     * @param {RegExp} words
     * @returns the number of connections that become silent
     */
    silence(words) {
      const silenced = [...links].filter(({ said }) => words.test(said))
      for (const link of silenced) link.silent = true
      return silenced.length
    },
    /**
     * Drops the response to every second query with this text from now on, and ends the connection.
     * @param {RegExp} words
     */
    loseAnswers(words) {
      losses = { words, asked: 0 }
    },
    /** Drops no responses from now on. @returns the number of dropped responses */
    stopLosing() {
      const lost = Math.ceil((losses?.asked ?? 0) / 2)
      losses = undefined
      return lost
    },
    async close() {
      // First close the listener, so that no new connection is added.
      const closed = new Promise((resolve) => server.close(resolve))
      for (const { near, far } of links) {
        near.destroy()
        far.destroy()
      }
      await closed
    }
  }
}

/**
 * @param {Link} link
 * @param {{ from: Socket, to: Socket, delayOf: () => number }} way `delayOf`: the delay of the next data in milliseconds
 * @param {(bytes: Buffer) => void} listen
 */
function relay(link, { from, to, delayOf }, listen) {
  /** @type {Buffer[]} */
  const delayed = []
  const pass = () => {
    const bytes = delayed.shift()
    if (bytes !== undefined && !link.silent && !to.destroyed) to.write(bytes)
  }
  from.on('data', (bytes) => {
    listen(bytes)
    const delay = delayOf()
    const isFirst = delayed.push(bytes) === 1
    // Each timer passes the oldest data, so timers that fire in another order do not change that of the data.
    if (delay === 0 && isFirst) pass()
    else setTimeout(pass, delay)
  })
}
