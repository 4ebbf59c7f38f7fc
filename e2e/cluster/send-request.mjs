// Sends requests to ports of this machine over keep-alive connections.
import { Agent, request } from 'node:http'

const LONGEST_MS = 30_000
const agent = new Agent({ keepAlive: true, maxSockets: 100 })

/**
 * @param options.by the client or resource server that authenticates
 * @returns the response with any status, and its duration; rejects if there is no response
 */
export function sendRequest(port, method, path, { by, form, json, headers = {} } = {}) {
  const body = form === undefined ? json && JSON.stringify(json) : new URLSearchParams(form).toString()
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded'
  const sentHeaders = { accept: '*/*', ...(body !== undefined && { 'content-type': type }), ...headers }
  const auth = by && `${by.client_id}:${by.client_secret}`
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method, auth, headers: sentHeaders, agent, timeout: LONGEST_MS }
    const sent = request(options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status, headers: received } = response
        resolve({ status, headers: received, body: text, milliseconds: performance.now() - began })
      })
    })
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${LONGEST_MS} ms`)))
    sent.on('error', reject)
    sent.end(body)
  })
}
