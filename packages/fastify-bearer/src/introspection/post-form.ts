import type { Pool } from 'undici'

export type FormRequest = {
  path: string
  headers: Record<string, string>
  body: string
  /** Bytes; a longer answer is not read to its end. */
  largestAnswer: number
}

/** `date` is the header of that name, the server's clock when it answered; undefined where it sent none that can be read. */
export type FormAnswer = { statusCode: number; body: string; date: Date | undefined }

/** The time that a call may take is over. */
export class TimeLimitError extends Error {
  override name = 'TimeLimitError'
}

/**
 * Sends a form and reads the whole answer, within a limit for all of it: waiting for a connection, the head, and a body that
 * may come in drops. On undici's lowest level, for this stands before every request of an API, and a stream and an abort
 * signal for each would cost as much as the call. Time in which this process stood still (it waited for a processor, it
 * collected garbage) is not held against the answer, which may have come and lie unread.
 * @throws {TimeLimitError}, an error for an answer that is too long, and what undici reports of the connection
 */
export function postForm(
  pool: Pool,
  { path, headers, body, largestAnswer }: FormRequest,
  limitMs: number
): Promise<FormAnswer> {
  return new Promise((resolve, reject) => {
    let statusCode = 0
    let date: Date | undefined
    let cancel: (() => void) | undefined
    let overdue: TimeLimitError | undefined
    const chunks: Buffer[] = []
    let size = 0
    const due = performance.now() + limitMs
    let timer = setTimeout(() => {
      // As late as this comes, so long did nobody read.
      const lateMs = Math.min(performance.now() - due, limitMs)
      timer = setTimeout(giveUp, lateMs)
    }, limitMs)

    function giveUp() {
      overdue = new TimeLimitError(`no answer within ${limitMs} ms`)
      reject(overdue)
      cancel?.()
    }

    pool.dispatch(
      { method: 'POST', path, headers, body },
      {
        onRequestStart(controller) {
          // It may have waited for a connection until nobody waited for it any more.
          if (overdue !== undefined) controller.abort(overdue)
          else cancel = () => controller.abort(new TimeLimitError())
        },
        onResponseStart(_controller, status, headers) {
          statusCode = status
          date = readDate(headers.date)
        },
        onResponseData(controller, chunk) {
          size += chunk.length
          if (size > largestAnswer) controller.abort(new Error(`an answer of more than ${largestAnswer} bytes`))
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
