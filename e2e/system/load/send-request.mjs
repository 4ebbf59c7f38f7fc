// Sends requests to ports of this machine over keep-alive connections.
import { Agent, request } from 'node:http'
import { codeOf } from '../../../packages/dev-stack/lib/error-code.mjs'

/** @typedef {{ status: number, headers: import('node:http').IncomingHttpHeaders, body: string, milliseconds: number }} Answer */

const LONGEST_MS = 120_000
const agent = new Agent({ keepAlive: true, maxSockets: 100 })

/**
 * @param {number} port
 * @param {string} method
 * @param {string} path
 * @param {object} [options]
 * @param {{ client_id: string, client_secret: string }} [options.by] the client or resource server that authenticates
 * @param {Record<string, string>} [options.form]
 * @param {object} [options.json]
 * @param {Record<string, string>} [options.headers]
 * @returns {Promise<Answer>} the response with any status, and its duration; rejects if there is no response
 */
export function sendRequest(port, method, path, options = {}) {
  const { by, form, json, headers = {} } = options
  const body = form === undefined ? json && JSON.stringify(json) : new URLSearchParams(form).toString()
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded'
  const sentHeaders = { accept: '*/*', ...(body !== undefined && { 'content-type': type }), ...headers }
  const auth = by && `${by.client_id}:${by.client_secret}`
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const target = { host: '127.0.0.1', port, path, method, ...(auth !== undefined && { auth }) }
    const sent = request({ ...target, headers: sentHeaders, agent, timeout: LONGEST_MS }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, headers: received } = response
        resolve({ status, headers: received, body: text, milliseconds: performance.now() - began })
      })
    })
    sent.on('timeout', () => sent.destroy(new Error(`no response within ${LONGEST_MS} ms`)))
    sent.on('error', (error) => {
      // The server closed the idle connection before it read this request.
      if (sent.reusedSocket && codeOf(error) === 'ECONNRESET') resolve(sendRequest(port, method, path, options))
      else reject(error)
    })
    sent.end(body)
  })
}
