import { expect, test } from '@jest/globals'
import { buildLogger } from '../src/logger.js'
import { requestLog } from '../src/request-log.js'

function logOf(level = 'trace') {
  const lines: Record<string, unknown>[] = []
  const logger = buildLogger('test', level, { write: (line) => void lines.push(JSON.parse(line)) })
  return { lines, log: requestLog.call({} as never, logger, { reqId: 'r-1' }, {}, {} as never) }
}

test.each(['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const)(
  'the log of a request: a line of level %s carries the id beside its fields',
  (level) => {
    const { lines, log } = logOf()
    log[level]({ event: 'tried', count: 2 }, 'it was tried')
    expect(lines).toEqual([
      expect.objectContaining({ level, reqId: 'r-1', event: 'tried', count: 2, msg: 'it was tried' })
    ])
  }
)

test('the log of a request: a message alone is a line of its own, with its values', () => {
  const { lines, log } = logOf()
  log.info('it took %d tries', 3)
  expect(lines).toEqual([expect.objectContaining({ reqId: 'r-1', msg: 'it took 3 tries' })])
})

test('the log of a request: an error that comes alone keeps its message and stack', () => {
  const { lines, log } = logOf()
  log.error(new Error('out of reach'))
  const err = expect.objectContaining({ message: 'out of reach', stack: expect.stringContaining('request-log.test') })
  expect(lines).toEqual([expect.objectContaining({ reqId: 'r-1', err })])
})

test('the log of a request: what the logger leaves out, it leaves out', () => {
  const { lines, log } = logOf('warn')
  log.info({ event: 'tried' }, 'it was tried')
  expect(lines).toEqual([])
})

test('the log of a request: a child has the id and its own fields', () => {
  const { lines, log } = logOf()
  log.child({ part: 'b' }).warn({ event: 'tried' }, 'it was tried')
  expect(lines).toEqual([expect.objectContaining({ reqId: 'r-1', part: 'b', event: 'tried' })])
})
