import { errors, Pool } from 'undici'
import { batchQuestions } from './batch-questions.js'
import { createCircuit } from './circuit.js'
import {
  type IntrospectionAnswer,
  parseIntrospectionAnswer,
  parseIntrospectionAnswers
} from './introspection-answer.js'
import { badStatus, IntrospectionUnavailableError, isOutage, unreadableAnswer } from './introspection-unavailable.js'
import type { CallStatistics } from './introspector-statistics.js'
import { type FormAnswer, postForm, TimeLimitError } from './post-form.js'
import { requestIdHeaders } from './request-id-headers.js'

export type EndpointOptions = {
  /** The introspection endpoint of the authorization server (RFC 7662 §2). */
  url: string
  /**
   * Where a Valetkey authorization server takes several tokens in one request. With it, requests that come at the same time
   * share a call. A server that does not know the address (403, 404, 405) is asked at `url` alone.
   */
  severalUrl?: string
  /** This resource server's own credentials at the authorization server. */
  clientId: string
  clientSecret: string
  /** How long one answer may take, from the call to its last byte. Default 2000. */
  timeoutMs?: number
  /** Connections to the authorization server at most. Default 64. */
  connections?: number
}

/** An answer, and how many characters it had: what it costs to keep it. */
export type EndpointAnswer = { answer: IntrospectionAnswer; size: number }

export type IntrospectionEndpoint = {
  /** @throws {IntrospectionUnavailableError} when nothing is known about the token */
  ask(accessToken: string, requestIds: readonly string[]): Promise<EndpointAnswer>
  statistics(): CallStatistics
  close(): Promise<void>
}

/** About one token; that to a list may be as many times as long as it has tokens. */
const LARGEST_ANSWER_BYTES = 64 * 1024

/** What may travel in a list; anything longer or odder is asked about alone, so that it can spoil nobody else's answer. */
const LISTABLE = /^[\w.~-]{1,128}$/
const WITHOUT_LISTS_MS = 60_000

type Question = { accessToken: string; requestIds: readonly string[] }

/** A client of one RFC 7662 endpoint. undici's Pool, for a call through fetch costs three times as much. */
export function createIntrospectionEndpoint(settings: EndpointOptions): IntrospectionEndpoint {
  const { url, severalUrl, timeoutMs = 2_000, connections = 64 } = settings
  const pool = new Pool(new URL(url).origin, {
    connections,
    connect: { timeout: timeoutMs }
  })
  const circuit = createCircuit()
  const path = pathOf(url)
  const headers = {
    accept: 'application/json',
    authorization: basicCredentials(settings),
    'content-type': 'application/x-www-form-urlencoded'
  }
  const failures = { unreachable: 0, timeout: 0, bad_status: 0, unreadable_answer: 0, resting: 0 }
  const ended = { ended: 0, milliseconds: 0, tokens: 0 }
  let asksAloneUntil = 0

  /** @throws {IntrospectionUnavailableError} */
  async function post(path: string, body: string, requestIds: readonly string[], tokens = 1): Promise<FormAnswer> {
    const largestAnswer = tokens * LARGEST_ANSWER_BYTES
    const request = { path, headers: { ...headers, ...requestIdHeaders(requestIds) }, body, largestAnswer }
    const begun = performance.now()
    try {
      const answered = await postForm(pool, request, timeoutMs).catch((error: unknown) => {
        // An idle connection may be closed just as it is used again: that call was never read, and asking is harmless.
        if (isClosedConnection(error)) return postForm(pool, request, timeoutMs - (performance.now() - begun))
        throw error
      })
      // A 401 here is about our own credentials (RFC 7662 §2.3) and must never reach the caller as one about the token.
      if (answered.statusCode !== 200) throw badStatus(answered.statusCode)
      return answered
    } catch (error) {
      if (error instanceof IntrospectionUnavailableError) throw error
      const reason = error instanceof TimeLimitError ? 'timeout' : 'unreachable'
      throw new IntrospectionUnavailableError(reason, describe(error), { cause: error })
    }
  }

  /** Unless the server is left alone for a while, and counting whether it is there. */
  async function attempt<Result>(tokens: number, call: () => Promise<Result>): Promise<Result> {
    const begun = performance.now()
    const permit = circuit.begin(begun)
    if (permit === undefined) {
      failures.resting += 1
      throw new IntrospectionUnavailableError('resting', 'it failed just now, and is left alone for a moment')
    }
    try {
      const result = await call()
      permit.succeeded()
      return result
    } catch (error) {
      if (isOutage(error)) permit.failed(performance.now())
      else permit.succeeded()
      failures[error instanceof IntrospectionUnavailableError ? error.reason : 'unreachable'] += 1
      throw error
    } finally {
      ended.ended += 1
      ended.tokens += tokens
      ended.milliseconds += performance.now() - begun
    }
  }

  function askAlone({ accessToken, requestIds }: Question): Promise<EndpointAnswer> {
    return attempt(1, async () => {
      const form = `token=${encodeURIComponent(accessToken)}&token_type_hint=access_token`
      const { body, date } = await post(path, form, requestIds)
      const answer = parseIntrospectionAnswer(body)
      if (answer === undefined) throw unreadableAnswer()
      return { answer: answeredAt(answer, date), size: body.length }
    })
  }

  function askInOneRequest(questions: readonly Question[], severalPath: string) {
    return attempt(questions.length, async () => {
      const form = `tokens=${questions.map(({ accessToken }) => accessToken).join('+')}`
      const requestIds = questions.flatMap((question) => question.requestIds)
      const { body, date } = await post(severalPath, form, requestIds, questions.length)
      const answers = parseIntrospectionAnswers(body, questions.length)
      if (answers === undefined) throw unreadableAnswer()
      const size = Math.ceil(body.length / questions.length)
      // One that cannot be read is the trouble of whoever asked for it.
      return answers.map((answer) =>
        answer === undefined ? rejection(unreadableAnswer()) : { answer: answeredAt(answer, date), size }
      )
    })
  }

  async function askTogether(questions: readonly Question[], severalPath: string) {
    const [first, second] = questions
    if (first === undefined) return []
    if (second === undefined) return [await askAlone(first)]
    try {
      return await askInOneRequest(questions, severalPath)
    } catch (error) {
      if (!isUnknownAddress(error)) throw error
      asksAloneUntil = performance.now() + WITHOUT_LISTS_MS
      return questions.map(askAlone)
    }
  }

  const severalPath = severalUrl === undefined ? undefined : pathOf(severalUrl)
  const gathered =
    severalPath === undefined
      ? undefined
      : batchQuestions<Question, EndpointAnswer>((asked) => askTogether(asked, severalPath), {
          milliseconds: timeoutMs,
          failure() {
            failures.timeout += 1
            return new IntrospectionUnavailableError('timeout', 'too many questions were before it')
          }
        })

  return {
    ask(accessToken, requestIds) {
      const question = { accessToken, requestIds }
      const isBatched = gathered !== undefined && performance.now() >= asksAloneUntil && LISTABLE.test(accessToken)
      return isBatched ? gathered(question) : askAlone(question)
    },
    statistics: () => ({ ...ended, failures: { ...failures } }),
    close: async () => {
      if (!pool.closed) await pool.close()
    }
  }
}

/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined. */
export function basicCredentials({ clientId, clientSecret }: { clientId: string; clientSecret: string }): string {
  const encode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1)
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`
}

/** A proxy may let through `/introspect` alone. */
const UNKNOWN_ADDRESS = [403, 404, 405]

function isUnknownAddress(error: unknown): boolean {
  return error instanceof IntrospectionUnavailableError && UNKNOWN_ADDRESS.includes(error.status ?? 0)
}

/** For somebody who will wait for it in a moment; until then it counts as seen to. */
function rejection(error: Error): Promise<never> {
  const rejected = Promise.reject(error)
  rejected.catch(() => {})
  return rejected
}

function answeredAt(answer: IntrospectionAnswer, date: Date | undefined): IntrospectionAnswer {
  return answer.active ? { ...answer, answeredAt: date } : answer
}

function pathOf(address: string): string {
  const { pathname, search } = new URL(address)
  return pathname + search
}

function isClosedConnection(error: unknown): boolean {
  if (error instanceof errors.SocketError) return true
  const { code } = error as { code?: unknown }
  return code === 'ECONNRESET' || code === 'EPIPE'
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error'
}
