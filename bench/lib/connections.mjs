// A minimal HTTP/1.1 client, because the load shares its core with the stores. It reads only responses with Content-Length.
import { createConnection } from 'node:net'

/** Keep-alive connections to one origin, opened when needed. */
export function openConnections(origin) {
  const { hostname, port } = new URL(origin)
  const idle = []
  const all = new Set()

  return {
    /** @returns status, head and body of the response, as text */
    async send(request) {
      const connection = takeIdle() ?? connect()
      const answer = await connection.send(request)
      idle.push(connection)
      return answer
    },
    close() {
      for (const connection of all) connection.close()
    }
  }

  /** A server closes idle connections; those are removed here. */
  function takeIdle() {
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (connection.isOpen()) return connection
      all.delete(connection)
    }
    return undefined
  }

  function connect() {
    const connection = keepTalking(createConnection({ host: hostname, port: Number(port), noDelay: true }))
    all.add(connection)
    return connection
  }
}

function keepTalking(socket) {
  let text = ''
  let asked
  const settle = (how, value) => {
    const waiting = asked
    asked = undefined
    waiting?.[how](value)
  }
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    text += chunk
    try {
      const answer = readAnswer(text)
      if (answer === undefined) return
      text = ''
      settle('resolve', answer)
    } catch (error) {
      settle('reject', error)
    }
  })
  socket.on('error', (error) => settle('reject', error))
  socket.on('close', () => settle('reject', new Error('the server closed the connection')))
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        asked = { resolve, reject }
        socket.write(request, 'latin1')
      }),
    isOpen: () => !socket.destroyed && socket.writable && !socket.readableEnded,
    close: () => socket.destroy()
  }
}

/** @returns undefined if the response is not complete */
function readAnswer(text) {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = text.slice(0, end)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`an answer without a length: ${head}`)
  if (text.length < end + 4 + Number(length)) return undefined
  return { status: Number(head.slice(9, 12)), head, body: text.slice(end + 4) }
}

/** @returns the text of a request; a form makes it a POST */
export function requestText(url, { headers = {}, form } = {}) {
  const { host, pathname, search } = new URL(url)
  const lines = [`${form === undefined ? 'GET' : 'POST'} ${pathname}${search} HTTP/1.1`, `host: ${host}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (form === undefined) return `${lines.join('\r\n')}\r\n\r\n`
  lines.push('content-type: application/x-www-form-urlencoded', `content-length: ${form.length}`)
  return `${lines.join('\r\n')}\r\n\r\n${form}`
}
