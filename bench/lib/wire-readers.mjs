// Parses the bytes that a service sends to its stores. Each reader belongs to one connection.

const NAME_LENGTH = 60

/**
 * Statements that Postgres executes: the name of the prepared statement, or the beginning of the text.
 * PostgreSQL, "Frontend/Backend Protocol", Message Formats.
 */
export function postgresReader(note) {
  const take = splitter()
  let isStarted = false
  let parsed = ''
  let bound = ''
  return (chunk) =>
    take(chunk, (bytes) => {
      // The first message has no type.
      const head = isStarted ? 1 : 0
      if (bytes.length < head + 4) return undefined
      const length = head + bytes.readUInt32BE(head)
      if (bytes.length < length) return undefined
      if (isStarted) readMessage(String.fromCharCode(bytes[0]), bytes.toString('latin1', 5, length))
      isStarted = true
      return length
    })

  function readMessage(type, body) {
    const [first, second] = body.split('\0', 2)
    if (type === 'P') parsed = brief(second)
    else if (type === 'B') bound = second || parsed
    else if (type === 'E') note(bound)
    else if (type === 'Q') note(brief(first))
  }
}

/** Commands to Redis, by their first word. A command is an array of bulk strings: Redis serialization protocol. */
export function redisReader(note) {
  const take = splitter()
  return (chunk) =>
    take(chunk, (bytes) => {
      let [count, position] = numberAt(bytes, 0)
      let name
      for (; count > 0; count--) {
        const [length, start] = numberAt(bytes, position)
        position = start + length + 2
        if (Number.isNaN(length) || position > bytes.length) return undefined
        name ??= bytes.toString('latin1', start, start + length).toUpperCase()
      }
      if (name === undefined) return undefined
      note(name)
      return position
    })
}

/** The number in the line at `position`, after its type, and the start of the next line; NaN if the line is incomplete. */
function numberAt(bytes, position) {
  const end = bytes.indexOf('\r\n', position)
  return end < 0 ? [Number.NaN, position] : [Number(bytes.toString('latin1', position + 1, end)), end + 2]
}

/** Stores incomplete messages. `readOne` returns the length of the first message; undefined if it is incomplete. */
function splitter() {
  let rest = Buffer.alloc(0)
  return (chunk, readOne) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let length = readOne(rest); length !== undefined; length = readOne(rest)) rest = rest.subarray(length)
  }
}

const brief = (text) => text.replace(/\s+/g, ' ').trim().slice(0, NAME_LENGTH)
