import { expect } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { FastifyInstance } from 'fastify'

type Response = {
  description: string
  headers?: Record<string, { schema: object }>
  content?: Record<string, { schema: object }>
}
type Operation = { operationId: string; parameters: object[]; responses: Record<string, Response> }
export type OpenApiDocument = {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { securitySchemes: Record<string, object> }
}

type Answer = { statusCode: number; headers: Record<string, unknown>; payload: string }

const ajv = new Ajv2020({ strict: true, coerceTypes: true })
addFormats.default(ajv)

/** Fails if the OpenAPI document describes the operation but not this response. */
export function expectDocumented(
  server: FastifyInstance,
  request: { method?: string; url: string },
  { statusCode, headers, payload }: Answer
): void {
  const document = server.swagger() as unknown as OpenApiDocument
  const path = request.url.split('?', 1)[0] ?? ''
  const prefix = new URL(document.servers[0]?.url ?? '').pathname.replace(/\/$/, '')
  const operation = document.paths[path.slice(prefix.length)]?.[(request.method ?? 'GET').toLowerCase()]
  if (operation === undefined) return
  const response = operation.responses[statusCode]
  if (response === undefined) throw new Error(`${statusCode} is not a documented response of ${operation.operationId}`)
  for (const [name, { schema }] of Object.entries(response.headers ?? {})) {
    const value = headers[name.toLowerCase()]
    // Several fields of one name are one list (RFC 9110 §5.2).
    const joined = Array.isArray(value) ? value.join(', ') : value
    if (joined !== undefined) expect(faultsOf(schema, joined)).toEqual([])
  }
  if (response.content === undefined) {
    expect(payload).toBe('')
    return
  }
  const [mediaType = ''] = String(headers['content-type']).split(';')
  const described = response.content[mediaType]
  if (described === undefined) throw new Error(`${mediaType} is not described for ${statusCode}`)
  expect(faultsOf(closed(described.schema), JSON.parse(payload))).toEqual([])
}

export function faultsOf(schema: object, value: unknown): unknown[] {
  const isValid = ajv.compile(schema)
  return isValid(value) ? [] : (isValid.errors ?? [])
}

/** The schema with `additionalProperties: false`, so that it lists every allowed member. */
export function closed(schema: object): object {
  const entries = Object.entries(schema).map(([key, value]) => [
    key,
    typeof value === 'object' && !Array.isArray(value) ? closed(value) : value
  ])
  return { ...Object.fromEntries(entries), ...('properties' in schema && { additionalProperties: false }) }
}
