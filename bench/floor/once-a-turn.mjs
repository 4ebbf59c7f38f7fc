// One write for the lines of a log, or for the commands to Redis, of one turn of the event loop.
import { destination } from 'pino'

/** A destination of pino: stdout. */
export function linesOnceATurn() {
  const output = destination({ dest: 1, sync: true })
  let lines = ''
  function flush() {
    output.write(lines)
    lines = ''
  }
  return {
    write(line) {
      if (lines === '') setImmediate(flush)
      lines += line
    }
  }
}

/** @param redis a client of ioredis */
export function redisOnceATurn(redis) {
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, stream) => {
    const socket = redis.stream
    if (socket !== undefined && socket.writableCorked === 0) {
      socket.cork()
      setImmediate(() => socket.uncork())
    }
    return send(command, stream)
  }
  return redis
}
