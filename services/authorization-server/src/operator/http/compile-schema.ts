import { Ajv, type ValidateFunction } from 'ajv'
import compileWriter from 'fast-json-stringify'
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'
import type { FastifyValidationResult } from 'fastify/types/schema.js'

// Use cases validate ids.
const COMMON = { useDefaults: true, validateFormats: false } as const

/** Refuses unknown members and wrong types. Fastify's default drops the former and converts the latter. */
const forBodies = new Ajv(COMMON)

/** Path and query parameters arrive as text. */
const forParameters = new Ajv({ ...COMMON, coerceTypes: true })

/** Compiles at the first use: there are hundreds of schemas, and most processes never get a request of an operator. */
export const compileSchema: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  let compiled: ValidateFunction | undefined
  const validate: FastifyValidationResult = (value) => {
    compiled ??= (httpPart === 'body' ? forBodies : forParameters).compile(schema)
    const isValid = compiled(value)
    // Fastify reads the errors from this property immediately after the call.
    validate.errors = compiled.errors ?? null
    return isValid
  }
  return validate
}

export const compileResponse: FastifySerializerCompiler<object> = ({ schema }) => {
  let write: ((document: unknown) => string) | undefined
  return (document) => {
    write ??= compileWriter(schema)
    return write(document)
  }
}
