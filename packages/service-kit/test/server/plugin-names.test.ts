import { expect, test } from '@jest/globals'
import type { FastifyInstance } from 'fastify'
import { buildLogger } from '../../src/process/logger.js'
import { buildServer } from '../../src/server/build-server.js'

const DISPLAY_NAME = Symbol.for('fastify.display-name')

test('namePlugins: plugins of the server and of nested scopes get a name, and keep one that they have', async () => {
  const server = buildServer({ logger: buildLogger('test', 'silent') })
  const named = async function pages(scope: FastifyInstance) {
    await scope.register(nested)
  }
  const nested = async () => {}
  const anonymous = [async () => {}][0] as () => Promise<void>
  const given = Object.assign(async () => {}, { [DISPLAY_NAME]: 'given' })
  server.register(named)
  server.register(anonymous)
  server.register(given)
  await server.ready()
  const names = [named, nested, anonymous, given].map((plugin) => Reflect.get(plugin, DISPLAY_NAME))
  expect(names).toEqual(['pages', 'nested', 'scope', 'given'])
  await server.close()
})
