import { expect, test } from '@jest/globals'
import { buildLogger } from '../../src/process/logger.js'

function linesOf(level: string, write: (logger: ReturnType<typeof buildLogger>) => void): Record<string, unknown>[] {
  const lines: string[] = []
  write(buildLogger('a-service', level, { write: (line) => lines.push(line) }))
  return lines.map((line) => JSON.parse(line))
}

test('a line is one JSON document with level, time and service', () => {
  const [line] = linesOf('info', (logger) => logger.info({ event: 'started' }, 'a message'))
  expect(line).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    service: 'a-service',
    event: 'started',
    msg: 'a message'
  })
})

test('lines below the level are not written', () => {
  expect(linesOf('warn', (logger) => logger.info('quiet'))).toEqual([])
  expect(linesOf('silent', (logger) => logger.fatal('quiet'))).toEqual([])
})

test('sensitive members are redacted', () => {
  const error = Object.assign(new Error('refused'), { detail: 'hush', where: 'hush', parameters: ['hush'] })
  const [line] = linesOf('info', (logger) =>
    logger.info({
      authorization: 'hush',
      cookie: 'hush',
      password: 'hush',
      headers: { authorization: 'hush', cookie: 'hush', accept: 'seen' },
      err: error
    })
  )
  expect(JSON.stringify(line)).not.toContain('hush')
  expect(line).toMatchObject({ headers: { accept: 'seen' }, err: { message: 'refused', detail: '[redacted]' } })
})
