import multipart from '@fastify/multipart'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fastify, { type FastifyInstance } from 'fastify'
import { FORM_LIMITS, readAppForm } from '../../../src/features/developer-apps/read-app-form.js'
import { formOf } from '../../../src/platform/request-parts.js'

const TYPE = 'multipart/form-data; boundary=x'
const MEGABYTE = 1024 * 1024

let server: FastifyInstance

beforeAll(async () => {
  server = fastify()
  await server.register(multipart, FORM_LIMITS)
  server.post<{ Querystring: { name: string } }>('/', async (request) => {
    const logo = await readAppForm(request)
    const form = formOf(request)
    const { name } = request.query
    const size = logo?.kind === 'file' ? logo.content.length : (logo?.kind ?? 'none')
    return { value: form.get(name) ?? null, isRepeated: form.isRepeated(name), size }
  })
})
afterAll(() => server.close())

const field = (name: string, value: string) =>
  `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const file = (name: string, size: number) =>
  `--x\r\ncontent-disposition: form-data; name="${name}"; filename="a.png"\r\ncontent-type: image/png\r\n\r\n${'a'.repeat(size)}\r\n`

async function send(body: string, headers: Record<string, string> = {}, name = 'name') {
  const answer = await server.inject({
    method: 'POST',
    url: `/?name=${name}`,
    headers: { 'content-type': TYPE, ...headers },
    payload: body
  })
  return { status: answer.statusCode, ...(answer.statusCode === 200 ? answer.json() : {}) }
}

describe('the form of an app', () => {
  test('has its fields and the file', async () => {
    const body = `${field('name', 'Wind Chimes')}${file('logo', 3)}--x--\r\n`
    expect(await send(body)).toEqual({ status: 200, value: 'Wind Chimes', isRepeated: false, size: 3 })
  })

  test.each([
    { case: 'an empty field counts as absent', body: field('name', ''), value: null },
    { case: 'control characters become spaces', body: field('name', 'a\tb\u0000c'), value: 'a b c' },
    { case: 'a name of an object member', body: field('constructor', 'x'), status: 400 },
    { case: 'a field with more than 32 KiB', body: field('name', 'a'.repeat(33 * 1024)), status: 413 },
    {
      case: 'fields with more than 256 KiB in all',
      body: field('name', '\u0001'.repeat(32_000)).repeat(9),
      status: 413
    },
    { case: 'a second file', body: file('logo', 1) + file('logo', 1), status: 413 },
    { case: 'more than 500 fields', body: field('name', 'a').repeat(501), status: 413 }
  ])('$case', async ({ body, value, status = 200 }) => {
    expect(await send(`${body}--x--\r\n`)).toMatchObject(status === 200 ? { status, value } : { status })
  })

  test('keeps the line breaks between redirect URIs', async () => {
    const answer = await send(`${field('redirect_uris', 'a\r\nb\u0000')}--x--\r\n`, {}, 'redirect_uris')
    expect(answer.value).toBe('a\nb ')
  })

  test('a repeated field has no value', async () => {
    const answer = await send(`${field('name', 'a')}${field('name', 'b')}--x--\r\n`)
    expect(answer).toMatchObject({ value: null, isRepeated: true })
  })

  test('a file of more than 1 MB is dropped, and the other fields are kept', async () => {
    const body = `${file('logo', MEGABYTE + 1)}${field('name', 'a')}--x--\r\n`
    expect(await send(body)).toMatchObject({ value: 'a', size: 'too_large' })
    expect(await send(`${file('logo', MEGABYTE)}--x--\r\n`)).toMatchObject({ size: MEGABYTE })
  })

  test.each([
    { case: 'that ends early', body: field('name', 'a'), headers: {}, status: 400 },
    { case: 'without a boundary', body: 'a', headers: { 'content-type': 'multipart/form-data' }, status: 400 },
    { case: 'of another type', body: '"a"', headers: { 'content-type': 'application/json' }, status: 406 },
    { case: 'that announces more than 8 MB', body: 'a', headers: { 'content-length': '8388609' }, status: 413 }
  ])('a body $case: $status', async ({ body, headers, status }) => {
    expect(await send(body, headers)).toEqual({ status })
  })
})
