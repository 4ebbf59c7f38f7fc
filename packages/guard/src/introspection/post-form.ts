import type { Pool } from 'undici/index.js'

export type FormRequest = {
  path: string
  headers: Record<string, string>
  body: string
  /** A number of bytes. A longer response is an error, and is not read to its end. */
  largestResponse: number
}

/** `date` is the `Date` header; undefined if it is missing or unreadable. */
export type FormResponse = { statusCode: number; body: string; date: Date | undefined }

/** The call took longer than its time limit. */
export class TimeLimitError extends Error {
  override name = 'TimeLimitError'
}

/**
 * Sends a form and reads the complete response within a time limit, which covers the wait for a connection, the head and a
 * slow body. Uses undici's `dispatch`, because a stream and an abort signal for each call would cost as much as the call.
 * @throws {TimeLimitError}, an error for a response that is too long, or undici's error of the connection
 */
export function postForm(
  pool: Pool,
  { path, headers, body, largestResponse }: FormRequest,
  limitMs: number
): Promise<FormResponse> {
  return new Promise((resolve, reject) => {
    let statusCode = 0
    let date: Date | undefined
    let cancel: (() => void) | undefined
    let overdue: TimeLimitError | undefined
    const chunks: Buffer[] = []
    let size = 0
    const due = performance.now() + limitMs
    let timer = setTimeout(() => {
      // This timer fires late if the process was blocked (by garbage collection, or without a processor). The response may
      // have arrived unread meanwhile, so the call gets the lost time back.
      const lateMs = Math.min(performance.now() - due, limitMs)
      timer = setTimeout(giveUp, lateMs)
    }, limitMs)

    function giveUp() {
      overdue = new TimeLimitError(`no response within ${limitMs} ms`)
      reject(overdue)
      cancel?.()
    }

    pool.dispatch(
      { method: 'POST', path, headers, body },
      {
        onRequestStart(controller) {
          // The time limit may have passed while the call waited for a connection.
          if (overdue !== undefined) controller.abort(overdue)
          else cancel = () => controller.abort(new TimeLimitError())
        },
        onResponseStart(_controller, status, headers) {
          statusCode = status
          date = readDate(headers.date)
        },
        onResponseData(controller, chunk) {
          size += chunk.length
          if (size > largestResponse) controller.abort(new Error(`a response of more than ${largestResponse} bytes`))
          else chunks.push(chunk)
        },
        onResponseEnd() {
          clearTimeout(timer)
          resolve({ statusCode, body: Buffer.concat(chunks).toString('utf8'), date })
        },
        onResponseError(_controller, error) {
          clearTimeout(timer)
          reject(error)
        }
      }
    )
  })
}

function readDate(header: string | string[] | undefined): Date | undefined {
  const date = new Date(typeof header === 'string' ? header : Number.NaN)
  return Number.isNaN(date.getTime()) ? undefined : date
}
