import { expect } from '@jest/globals'
import type { LightMyRequestResponse } from 'fastify'
import { ISSUER } from './authorization-server.js'

type Answer = Pick<LightMyRequestResponse, 'statusCode' | 'headers' | 'body'>

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
/** RFC 6749 §5.2. */
const DESCRIPTION = /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/

/** Checks an error of the contract: status, members of the body, and common headers. */
export function expectRefusal(answer: Answer, status: number, error: string, description?: string): void {
  const { error: code, ...rest } = JSON.parse(answer.body)
  expect([answer.statusCode, code]).toEqual([status, error])
  expect(rest).toEqual({
    error_description: description ?? expect.stringMatching(DESCRIPTION),
    error_uri: `${ISSUER}/errors/${error}`
  })
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(UUID)
  })
  expect(answer.headers).not.toHaveProperty('set-cookie')
}

/** 503 with Retry-After and without details of the outage. */
export function expectOutage(answer: Answer): void {
  expectRefusal(answer, 503, 'temporarily_unavailable')
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  expect(answer.body).not.toMatch(/redis|postgres|connect|terminat|sql/i)
}
