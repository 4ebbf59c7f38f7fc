// Requests whose outcome may stay unknown. Unlike other clients of tests, this one never repeats a request by itself.
import { Agent, request } from 'node:http'

/** @typedef {{ kind: 'answer', status: number, location: string, cookies: string[], body: string }} Received */
/** @typedef {Received | { kind: 'unsent' } | { kind: 'unknown' }} Answer `unsent`: the server accepted no connection */

/** Longer than the service needs when a store stalls. */
const LIMIT_MS = 15_000
const agent = new Agent({ keepAlive: true, maxSockets: 200 })

/**
 * @param {number} port
 * @param {string} method
 * @param {string} path
 * @param {object} [options]
 * @param {Record<string, string>} [options.form]
 * @param {object} [options.json]
 * @param {Record<string, string>} [options.headers]
 * @param {number | undefined} [options.cutAfterMs] resets the connection unless the response has begun
 * @returns {Promise<Answer>} rejected for a response with 500
 */
export function send(port, method, path, { form, json, headers = {}, cutAfterMs } = {}) {
  const body = form === undefined ? json && JSON.stringify(json) : new URLSearchParams(form).toString()
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded'
  const all = { accept: '*/*', ...(body !== undefined && { 'content-type': type }), ...headers }
  return new Promise((resolve, reject) => {
    const own = cutAfterMs === undefined ? { agent } : { agent: false }
    const sent = request({ host: '127.0.0.1', port, path, method, headers: all, ...own }, (response) => {
      clearTimeout(cut)
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('error', () => resolve({ kind: 'unknown' }))
      response.on('end', () => {
        clearTimeout(limit)
        const { statusCode: status = 0, headers: received } = response
        const { location = '', 'set-cookie': cookies = [] } = received
        // No fault of a store or of a connection explains it.
        if (status === 500) reject(new Error(`${method} ${path} has the response 500: ${text}`))
        resolve({ kind: 'answer', status, location, cookies, body: text })
      })
    })
    const limit = setTimeout(() => sent.destroy(), LIMIT_MS)
    const cut = cutAfterMs === undefined ? undefined : setTimeout(() => sent.socket?.resetAndDestroy(), cutAfterMs)
    sent.on('error', (error) => {
      clearTimeout(limit)
      clearTimeout(cut)
      const isUnsent = 'code' in error && error.code === 'ECONNREFUSED'
      resolve(isUnsent ? { kind: 'unsent' } : { kind: 'unknown' })
    })
    sent.on('close', () => resolve({ kind: 'unknown' }))
    sent.end(body)
  })
}

/** @param {{ client_id: string, client_secret: string }} credential */
export const basic = ({ client_id: id, client_secret: secret }) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
})

/** A browser that sends its requests to any process of the issuer, and follows no redirect by itself. @param {string} issuer */
export function createJar(issuer) {
  const cookies = new Map()
  return {
    /**
     * @param {number} port
     * @param {string} address
     * @param {Record<string, string>} [form]
     */
    async visit(port, address, form) {
      const { pathname, search } = new URL(address, issuer)
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const own = form && { origin: new URL(issuer).origin, 'sec-fetch-site': 'same-origin' }
      const headers = { accept: 'text/html', cookie, ...own }
      const answer = await send(port, form ? 'POST' : 'GET', pathname + search, { headers, ...(form && { form }) })
      for (const line of answer.kind === 'answer' ? answer.cookies : []) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        cookies.set(name, value)
      }
      return answer
    }
  }
}

/** The address and the hidden fields of the first form of a page. @param {string} html */
export function formIn(html) {
  const [form = ''] = /<form\b[^>]*>[\s\S]*?<\/form>/.exec(html) ?? []
  const inputs = [...form.matchAll(/<input\b[^>]* type="hidden"[^>]*>/g)].map(([tag]) => tag)
  const fields = inputs.map((tag) => [attribute(tag, 'name'), attribute(tag, 'value')])
  return { action: attribute(form.slice(0, form.indexOf('>')), 'action'), fields: Object.fromEntries(fields) }
}

/** @param {string} tag @param {string} name */
function attribute(tag, name) {
  const text = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
  return text.replace(/&(amp|quot|#x3D|#x27|lt|gt);/g, (_, entity) => ENTITIES[entity] ?? '')
}

/** @type {Record<string, string>} */
const ENTITIES = { amp: '&', quot: '"', '#x3D': '=', '#x27': "'", lt: '<', gt: '>' }
