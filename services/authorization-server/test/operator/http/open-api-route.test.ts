import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { type Administration, startAdministration } from '../../support/administration.js'
import { startTestServer, type TestServer } from '../../support/authorization-server.js'

let server: TestServer
let admin: Administration

beforeAll(async () => {
  server = await startTestServer()
  admin = await startAdministration(server)
})
afterAll(() => server.close())

type Operation = { operationId?: string; responses: Record<string, object>; security?: object[] }

const read = async () => {
  const answer = await admin.call('GET', '/openapi.json')
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  return answer.json() as { paths: Record<string, Record<string, Operation>>; security: object[] }
}

test('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  expect(await validator.validate((await read()) as never)).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
})

test('the document describes every route with a unique operationId, error responses and the key', async () => {
  const { paths, security } = await read()
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
  )
  expect(described).toContain('DELETE /admin/operator-keys/{operator_key_id}')
  for (const route of described) {
    const [method = '', path = ''] = route.split(' ')
    const url = path.replaceAll(/\{(\w+)\}/g, ':$1')
    expect(server.operatorServer.hasRoute({ method: method as 'GET', url })).toBe(true)
  }
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const ids = operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).not.toContain(undefined)
  for (const { responses } of operations) expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '503']))
  expect(security).toEqual([{ operatorKey: [] }])
})
