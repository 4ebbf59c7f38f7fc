// Reads the revocation feed with the rules of the guard, and proves at any moment which endings precede it.
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { eventStreamReader } from '../../packages/guard/dist/revocations/event-stream.js'
import {
  addNonce,
  applyEvent,
  beginCall,
  emptyView,
  isUnrevoked,
  resetView
} from '../../packages/guard/dist/revocations/revocation-view.js'
import { basic, send } from './http.mjs'

const NONCE_EVERY_MS = 500
const PROOF_LIMIT_MS = 3_000
const RECONNECT_MS = 200

/** @typedef {ReturnType<typeof followFeed>} Feed */

/**
 * @param {number} port of the internal listener
 * @param {{ client_id: string, client_secret: string }} credential
 */
export function followFeed(port, credential) {
  const view = emptyView()
  /** What to do when a nonce returns. @type {Map<string, (isProved: boolean) => void>} */
  const waiting = new Map()
  let isStopped = false
  /** @type {import('node:http').ClientRequest | undefined} */
  let stream
  const timer = setInterval(() => void sendNonce(), NONCE_EVERY_MS)
  const following = follow()

  async function follow() {
    while (!isStopped) {
      await read()
      resetView(view)
      for (const settle of waiting.values()) settle(false)
      waiting.clear()
      await wait(RECONNECT_MS)
    }
  }

  /** @returns {Promise<void>} when the stream has ended */
  function read() {
    const headers = { accept: 'text/event-stream', ...basic(credential) }
    return new Promise((resolve) => {
      const opened = request({ host: '127.0.0.1', port, path: '/revocations', headers, agent: false }, (response) => {
        const readEvents = eventStreamReader()
        response.setEncoding('utf8').on('data', (text) => {
          const events = response.statusCode === 200 ? readEvents(text) : undefined
          if (events === undefined || !events.every(apply)) opened.destroy()
        })
        response.on('error', () => {})
      })
      stream = opened
      opened.on('error', () => {}).on('close', resolve)
      opened.end()
    })
  }

  /** @param {{ event: string, id: string, data: string }} event */
  function apply(event) {
    if (!applyEvent(view, event)) return false
    if (event.event === 'opened') void sendNonce()
    if (event.event !== 'proof') return true
    const { nonce } = JSON.parse(event.data)
    // At this moment: events that follow must not count.
    waiting.get(nonce)?.(true)
    waiting.delete(nonce)
    return true
  }

  /** @param {(isProved: boolean) => void} [settle] */
  async function sendNonce(settle) {
    if (view.stream === undefined) return settle?.(false)
    const nonce = randomBytes(16).toString('base64url')
    addNonce(view, nonce, performance.now())
    if (settle) waiting.set(nonce, settle)
    const form = { stream: view.stream.id, nonce }
    const answer = await send(port, 'POST', '/revocations', { headers: basic(credential), form })
    if (answer.kind === 'answer' && answer.status === 204) return
    waiting.delete(nonce)
    settle?.(false)
  }

  return {
    /** To be called before an introspection whose response is cached. */
    mark: () => beginCall(view, performance.now()),

    /**
     * Sends a nonce and waits until it returns.
     * @param {import('../../packages/guard/dist/revocations/revocation-view.js').Mark} mark
     * @param {readonly string[]} names of the cached response
     * @returns {Promise<boolean>} whether the cached response may be used when the nonce returns; false also if it does not return
     */
    isUsable(mark, names) {
      return new Promise((resolve) => {
        const limit = setTimeout(resolve, PROOF_LIMIT_MS, false)
        void sendNonce((isProved) => {
          clearTimeout(limit)
          resolve(isProved && mark.wasVerified && isUnrevoked(view, mark, names))
        })
      })
    },

    async stop() {
      isStopped = true
      clearInterval(timer)
      stream?.destroy()
      await following
    }
  }
}
