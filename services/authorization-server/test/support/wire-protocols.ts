import type { Listener } from './counting-proxy.js'

/** An executed statement of a client of Postgres: its name, or its text if it has none. */
export type SentStatement = { statement: string; connection: number }

/**
 * Reads the messages of Postgres clients (protocol 3.0, "Message Formats"): calls `note` for each Query and each Execute.
 * A client that prepares, binds and executes a named statement has sent one.
 */
export function readPostgres(note: (sent: SentStatement) => void): (connection: number) => Listener {
  return (connection) => {
    let rest = Buffer.alloc(0)
    let hasStarted = false
    let bound = ''
    const texts = new Map<string, string>()

    function read(type: string, body: Buffer): void {
      const [first = '', second = ''] = body.toString('latin1').split('\0', 2)
      if (type === 'P') texts.set(first, second)
      if (type === 'B') bound = second
      if (type === 'E') note({ statement: bound === '' ? (texts.get('') ?? '') : bound, connection })
      if (type === 'Q') note({ statement: first, connection })
    }

    return (bytes) => {
      rest = Buffer.concat([rest, bytes])
      for (;;) {
        // The first message of a connection has no type.
        const header = hasStarted ? 1 : 0
        if (rest.length < header + 4) return
        const end = header + rest.readInt32BE(header)
        if (rest.length < end) return
        if (hasStarted) read(rest.toString('latin1', 0, 1), rest.subarray(5, end))
        hasStarted = true
        rest = rest.subarray(end)
      }
    }
  }
}

/** Reads the commands of Redis clients, which are arrays of bulk strings: calls `note` with the name of each. */
export function readRedis(note: (command: string) => void): () => Listener {
  return () => {
    let rest = Buffer.alloc(0)

    /** The number after the mark at `start`, and the end of its line; undefined if the line is incomplete. */
    function readNumber(start: number): { number: number; next: number } | undefined {
      const end = rest.indexOf('\r\n', start)
      return end < 0 ? undefined : { number: Number(rest.toString('latin1', start + 1, end)), next: end + 2 }
    }

    function readCommand(): { name: string; next: number } | undefined {
      const count = readNumber(0)
      if (count === undefined) return undefined
      let name = ''
      let { next } = count
      for (let index = 0; index < count.number; index++) {
        const length = readNumber(next)
        if (length === undefined || rest.length < length.next + length.number + 2) return undefined
        if (index === 0) name = rest.toString('latin1', length.next, length.next + length.number)
        next = length.next + length.number + 2
      }
      return { name, next }
    }

    return (bytes) => {
      rest = Buffer.concat([rest, bytes])
      for (let command = readCommand(); command !== undefined; command = readCommand()) {
        note(command.name.toLowerCase())
        rest = rest.subarray(command.next)
      }
    }
  }
}
