import { setTimeout as sleep } from 'node:timers/promises'
import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { type AuditEntry, createAuditEntryStore } from '../../storage/postgres/audit-entries.js'
import { createUserStore } from '../../storage/postgres/users.js'
import { findUserByEither } from '../use-cases/administer-users.js'
import { isRecordId } from '../use-cases/name-of-record.js'
import { auditDocument, readAudit, toAuditFilter } from '../use-cases/read-audit.js'
import { auditLine } from './audit-line.js'
import type { CommandDeps } from './command-deps.js'
import { followAudit } from './follow-audit.js'
import { addLimitOption } from './limit.js'

type TailOptions = {
  limit?: number
  follow?: boolean
  user?: string
  client?: string
  event?: string
  since?: string
  requestId?: string
  traceId?: string
  secret?: string
  changes?: boolean
  subject?: string
  json?: boolean
}

const LINES = 20
const LINES_SINCE = 1_000
const MAX_EVENTS = 99_999
const LOOK_EVERY_MS = 1_000

export function addAuditCommands(program: Command, context: CommandDeps): void {
  const audit = program.command('audit').description('the log of security decisions and of changes by operators')
  addLimitOption(audit.command('tail'), undefined, MAX_EVENTS)
    .description(`show the newest ${LINES} events, oldest first; with --since up to ${LINES_SINCE}`)
    .option('--follow', 'keep showing new events until interrupted')
    .option('--user <user>', 'only events of this user, by id or name; a deleted user by id')
    .option('--client <client_id>', 'only events of this client')
    .option('--event <name>', 'only events with this name, such as sign_in_failed')
    .option('--since <time>', 'only events since then: 2026-11-21T08:00:00Z, 2026-11-21, or 15m, 2h, 7d ago')
    .option('--request-id <id>', 'only events of one request, by the X-Request-Id of its response')
    .option('--trace-id <id>', 'only events of the requests of one W3C trace')
    .option('--secret <secret_id>', 'only events of requests that used this client secret, live or ended')
    .option('--changes', 'only changes by operators and by owners of apps')
    .option('--subject <id or name>', 'only changes of this client, user, scope, API or operator key')
    .option('--json', 'print {"events":[…]}; with --follow one JSON document per line')
    .action(async (options: TailOptions) => {
      const { client: clientId, secret: secretId, changes: isChange, since, follow, json } = options
      const { event, requestId, traceId, subject } = options
      const auditEntries = createAuditEntryStore(context.database())
      const userId = options.user === undefined ? undefined : await toUserId(options.user, context)
      const filter = toAuditFilter({ userId, clientId, event, requestId, traceId, secretId, isChange, subject, since })
      const limit = options.limit ?? (since === undefined ? LINES : LINES_SINCE)
      const readNewest = async () => {
        const { entries: newest, next } = await readAudit(filter, { limit }, { auditEntries })
        if (since !== undefined && next !== undefined)
          context.say(`There are more than ${limit} events: raise --limit.\n`)
        return newest.toReversed()
      }
      if (!follow) {
        const shown = await readNewest()
        return printResult(context, json, { events: shown.map(auditDocument) }, shown.map(auditLine))
      }
      const show = (entry: AuditEntry) =>
        context.out(`${json ? JSON.stringify(auditDocument(entry)) : auditLine(entry)}\n`)
      const showFirst = async () => {
        const shown = await readNewest()
        for (const entry of shown) show(entry)
        return shown.map(({ eventId }) => eventId)
      }
      await followAudit(filter, showFirst, {
        auditEntries,
        show,
        say: context.say,
        wait: () => sleep(LOOK_EVERY_MS, true),
        monotonicNow: () => performance.now()
      })
    })
}

async function toUserId(given: string, context: CommandDeps): Promise<string> {
  if (isRecordId(given)) return given
  return (await findUserByEither(given, { users: createUserStore(context.database()) })).userId
}
