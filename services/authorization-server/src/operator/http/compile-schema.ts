import { Ajv, type ValidateFunction } from 'ajv'
import compileWriter from 'fast-json-stringify'
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify'
import type { FastifyValidationResult } from 'fastify/types/schema.js'

// What an id looks like is judged where it is looked up.
const COMMON = { useDefaults: true, validateFormats: false } as const

/** Members are what the schema says, and no others: Fastify by itself would drop those, and turn "true" into true. */
const forBodies = new Ajv(COMMON)

/** FormParameters come as text. */
const forParameters = new Ajv({ ...COMMON, coerceTypes: true })

/** When it is first needed, as below: there are hundreds, and most processes never see a request of an operator. */
export const compileSchema: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  let compiled: ValidateFunction | undefined
  const validate: FastifyValidationResult = (value) => {
    compiled ??= (httpPart === 'body' ? forBodies : forParameters).compile(schema)
    const isValid = compiled(value)
    // Where Fastify looks for them, at once.
    validate.errors = compiled.errors ?? null
    return isValid
  }
  return validate
}

export const compileAnswer: FastifySerializerCompiler<object> = ({ schema }) => {
  let write: ((document: unknown) => string) | undefined
  return (document) => {
    write ??= compileWriter(schema)
    return write(document)
  }
}
