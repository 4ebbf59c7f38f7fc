import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { type CallerOptions, callerOf, contentOf, readJsonOfApis } from '../../http/internal-json.js'
import type { AppUseStore, IgnoredUse, Reporter } from './app-use-store.js'
import { readReport } from './read-report.js'

/** Bytes: 500 uses with the longest names and numbers. */
const BODY_LIMIT = 128 * 1024

const RESULT = {
  type: 'object',
  required: ['counted', 'repeated', 'ignored'],
  properties: {
    counted: { type: 'integer', description: 'uses that were added now' },
    repeated: { type: 'boolean', description: 'the report was received before, so nothing was added' },
    ignored: {
      type: 'array',
      items: {
        type: 'object',
        required: ['row', 'reason'],
        properties: {
          row: { type: 'integer', description: 'place in the report, from 0' },
          reason: { type: 'string', enum: ['unknown_action', 'unknown_grant', 'wrong_time'] }
        }
      }
    }
  }
} as const

/**
 * `POST /uses` on the internal listener: a guard reports what apps did, as sums. JSON; resource server credentials as HTTP Basic.
 * - 200: `{"counted","repeated","ignored"}`. A use that cannot be counted is in `ignored`, and the others count.
 * - 400 `invalid_request`: a member is wrong; nothing was counted. 413: over 128 KiB. 401, 429, 503 as for introspection.
 */
export const useRoutes: FastifyPluginAsync<
  {
    /** Identifier of the default API, to which the built-in actions belong. */
    defaultAudience: string
    appUses: Pick<AppUseStore, 'add'>
  } & CallerOptions
> = async (internal, options) => {
  const { appUses, defaultAudience } = options
  readJsonOfApis(internal, options)

  const route = {
    bodyLimit: BODY_LIMIT,
    // Routine: every process of each API sends one in half a minute.
    config: { isRoutine: true },
    schema: { response: { 200: RESULT } }
  }
  internal.post('/uses', route, async (request, reply) => {
    const reporter = callerOf(request)
    const report = readReport(contentOf(request))
    const { isFirst, ignored } = await appUses.add(report, reporter, defaultAudience)
    if (isFirst && ignored.length > 0) logIgnored(request, reporter, ignored)
    reply.header('cache-control', 'no-store')
    return { counted: isFirst ? report.uses.length - ignored.length : 0, repeated: !isFirst, ignored }
  })
}

function logIgnored(request: FastifyRequest, { clientId }: Reporter, ignored: readonly IgnoredUse[]): void {
  const counts: Record<string, number> = {}
  for (const { reason } of ignored) counts[reason] = (counts[reason] ?? 0) + 1
  request.log.info({ event: 'uses_ignored', clientId, ...counts }, 'some reported uses were not counted')
}
