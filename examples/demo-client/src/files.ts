import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { type Discover, renew } from './access.js'
import { Problem, problemOf } from './problems.js'
import type { Connection, Sessions } from './sessions.js'

const fileRecord = z.object({ name: z.string(), mime_type: z.string(), size: z.int(), modified_at: z.iso.datetime() })
const filePage = z.object({ files: z.array(fileRecord), next_page_token: z.string().optional() })
type Answer = { status: number; page?: z.infer<typeof filePage> }

type Options = { sessions: Sessions; discover: Discover; resourceUrl: string }
const querystring = { type: 'object', properties: { page_token: { type: 'string', maxLength: 2_048 } } }

export async function filesRoutes(app: FastifyInstance, { sessions, discover, resourceUrl }: Options) {
  app.get<{ Querystring: { page_token?: string } }>('/files', { schema: { querystring } }, async (request, reply) => {
    const session = sessions.find(request)
    const connection = session?.connection
    if (session === undefined || connection === undefined) return reply.redirect('/', 303)
    const pageToken = request.query.page_token
    try {
      const { files, next_page_token: next } = await list(connection, pageToken)
      const older = next === undefined ? undefined : `/files?${new URLSearchParams({ page_token: next })}`
      return await reply.view('files.hbs', { rows: files.map(fileRow), older, isFirst: !pageToken })
    } catch (error) {
      // Another tab may have connected meanwhile; the newer tokens are kept.
      if (problemOf(error) === 'access_ended' && session.connection === connection) session.connection = undefined
      throw error
    }
  })

  /** Lists files with the current token. If it has expired or is refused, refreshes it once and tries again. */
  async function list(connection: Connection, pageToken: string | undefined) {
    const { accessToken } = connection
    let answer: Answer = Date.now() < connection.expiresAt ? await fetchFiles(accessToken, pageToken) : { status: 401 }
    if (answer.status === 401) {
      await renew(connection, accessToken, discover)
      answer = await fetchFiles(connection.accessToken, pageToken)
    }
    if (answer.page !== undefined) return answer.page
    if (answer.status === 401) throw new Problem('access_ended')
    if (answer.status === 403) throw new Problem('permission_missing')
    if (answer.status === 400 && pageToken !== undefined) throw new Problem('page_gone')
    throw new Problem('files_unreachable', new Error(`the files API responded with status ${answer.status}`))
  }

  async function fetchFiles(accessToken: string, pageToken: string | undefined): Promise<Answer> {
    const query = pageToken === undefined ? '' : `?${new URLSearchParams({ page_token: pageToken })}`
    try {
      const response = await fetch(`${resourceUrl}/v1/files${query}`, {
        // The bearer token is sent in the header (RFC 6750 §2.1). A redirect could carry it to somewhere else.
        headers: { authorization: `Bearer ${accessToken}`, accept: 'application/json' },
        redirect: 'error',
        signal: AbortSignal.timeout(8_000)
      })
      const body = await response.text()
      return { status: response.status, ...(response.ok && { page: filePage.parse(JSON.parse(body)) }) }
    } catch (error) {
      throw new Problem('files_unreachable', error)
    }
  }
}

const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const exact = new Intl.NumberFormat('en-GB')

/** A row of the table of files. */
function fileRow({ name, mime_type: mimeType, size, modified_at: modified }: z.infer<typeof fileRecord>) {
  return {
    name,
    mimeType,
    picture: mimeType.startsWith('image/') ? 'picture' : 'document',
    size: humanSize(size),
    exactSize: size === 1 ? '1 byte' : `${exact.format(size)} bytes`,
    modified: dates.format(new Date(modified)),
    modifiedIso: new Date(modified).toISOString()
  }
}

const UNITS = ['kB', 'MB', 'GB', 'TB', 'PB']

/** Decimal units (1 kB is 1000 bytes), one digit after the point below ten. */
export function humanSize(bytes: number): string {
  if (bytes < 1_000) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  // 999.5 and more would be rounded up to 1000 of the same unit.
  const unit = UNITS.findIndex((_, index) => bytes / 1_000 ** (index + 1) < 999.5)
  const value = bytes / 1_000 ** (unit + 1)
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}
