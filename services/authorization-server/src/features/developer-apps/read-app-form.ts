import type { FastifyMultipartBaseOptions } from '@fastify/multipart'
import type { FormParameters } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import { MOST_LOGO_BYTES } from '../../platform/clients/encode-logo.js'

/** A larger logo is read to its end and dropped, so that the page can keep what was typed. */
const MOST_BODY_BYTES = 8 * 1024 * 1024

/** Characters of all fields together: 500 scopes, and the longest texts. */
const MOST_FIELD_CHARACTERS = 256 * 1024

/** The limits for `@fastify/multipart`. The catalogue may have many scopes, each a field. */
export const FORM_LIMITS: FastifyMultipartBaseOptions = {
  throwFileSizeLimit: false,
  limits: {
    fileSize: MOST_LOGO_BYTES,
    files: 1,
    fields: 500,
    fieldNameSize: 300,
    fieldSize: 32 * 1024,
    headerPairs: 20
  }
}

/** Undefined if no file was chosen. */
export type SentLogo = { kind: 'file'; content: Buffer } | { kind: 'too_large' } | undefined

/**
 * Reads the form of an app (multipart/form-data, RFC 7578), and lets `formOf` find its fields. Control characters become spaces,
 * except the line breaks between redirect URIs.
 * @throws an error with the status 400, 413 or 406 for a body that is malformed, too large or of another type
 */
export async function readAppForm(request: FastifyRequest): Promise<SentLogo> {
  // A browser sends the length with every form.
  if (!(Number(request.headers['content-length']) <= MOST_BODY_BYTES)) throw httpError(413, 'the form is too large')
  const values = new Map<string, string>()
  const repeated = new Set<string>()
  const add = (name: string, value: string) => (values.has(name) ? repeated.add(name) : values.set(name, value))
  let logo: SentLogo
  let characters = 0
  try {
    for await (const part of request.parts()) {
      if (part.type === 'field') {
        if (part.valueTruncated || part.fieldnameTruncated) throw httpError(413, 'a field is too long')
        characters += part.fieldname.length + String(part.value).length
        if (characters > MOST_FIELD_CHARACTERS) throw httpError(413, 'the fields are too long')
        add(part.fieldname, clean(part.fieldname, String(part.value)))
      } else logo = await readLogo(part)
    }
  } catch (error) {
    throw error instanceof Error && 'statusCode' in error ? error : httpError(400, 'the form is malformed', error)
  }
  request.body = parametersOf(values, repeated)
  return logo
}

async function readLogo({ file }: { file: AsyncIterable<Buffer> & { truncated: boolean } }): Promise<SentLogo> {
  const chunks: Buffer[] = []
  for await (const chunk of file) chunks.push(chunk)
  if (file.truncated) return { kind: 'too_large' }
  const content = Buffer.concat(chunks)
  return content.length === 0 ? undefined : { kind: 'file', content }
}

function clean(name: string, value: string): string {
  if (name === 'redirect_uris') return value.replaceAll('\r\n', '\n').replace(/[^\P{Cc}\n]/gu, ' ')
  return value.replace(/\p{Cc}/gu, ' ').trim()
}

function parametersOf(values: ReadonlyMap<string, string>, repeated: ReadonlySet<string>): FormParameters {
  const get = (name: string) => (repeated.has(name) ? undefined : values.get(name) || undefined)
  return {
    get,
    getText: get,
    isRepeated: (name) => repeated.has(name),
    isMalformed: () => false
  }
}

function httpError(statusCode: number, message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { statusCode })
}
