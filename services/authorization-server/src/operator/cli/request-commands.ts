import { createInterface } from 'node:readline'
import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { type AuditEntry, createAuditEntryStore } from '../../storage/postgres/audit-entries.js'
import { auditDocument, readAudit, toAuditFilter } from '../use-cases/read-audit.js'
import { auditLine, fieldsOf } from './audit-line.js'
import type { CommandDeps } from './command-deps.js'
import { CommandFailure } from './exit.js'

type LogLine = Readonly<Record<string, unknown>> & { time: string; event?: string }
type ShowOptions = { logsStdin?: boolean; json?: boolean }

/** More than one request causes. */
const MOST_EVENTS = 1_000
/** Members of a log line that are the same for all lines of the request, or say nothing about it. */
const OMITTED = new Set(['time', 'service', 'event', 'msg', 'level', 'reqId', 'otherReqIds', 'trace_id', 'span_id'])

export function addRequestCommands(program: Command, context: CommandDeps): void {
  program
    .command('requests')
    .description('what happened to a request')
    .command('show')
    .description('show why a request failed: its audit events and, with --logs-stdin, what both services logged')
    .argument('<request_id>', 'the X-Request-Id of the response')
    .option('--logs-stdin', 'also read log lines of any services from standard input')
    .option('--json', 'print {"request_id","events":[…],"log_lines":[…]}')
    .action(async (requestId: string, { logsStdin, json }: ShowOptions) => {
      const filter = toAuditFilter({ requestId })
      const lines = logsStdin ? await readLogLines(context.stdin, requestId) : []
      const auditEntries = createAuditEntryStore(context.database())
      const { entries: events } = await readAudit(filter, { limit: MOST_EVENTS }, { auditEntries })
      if (events.length + lines.length === 0) throw notFound(requestId, logsStdin)
      const document = { request_id: requestId, events: events.map(auditDocument), log_lines: lines }
      printResult(context, json, document, inOrder(events, lines))
    })
}

/** The lines of the request. A line may have a prefix, such as the name of the container, before its JSON object. */
async function readLogLines(stdin: NodeJS.ReadableStream, requestId: string): Promise<readonly LogLine[]> {
  const found: LogLine[] = []
  for await (const text of createInterface({ input: stdin })) {
    if (!text.includes(requestId)) continue
    const line = parse(text.slice(text.indexOf('{')))
    if (line !== undefined && isOf(line, requestId)) found.push(line)
  }
  return found
}

function parse(text: string): LogLine | undefined {
  try {
    const line = JSON.parse(text)
    return typeof line?.time === 'string' ? line : undefined
  } catch {
    return undefined
  }
}

const isOf = ({ reqId, otherReqIds }: LogLine, requestId: string) =>
  reqId === requestId || (Array.isArray(otherReqIds) && otherReqIds.includes(requestId))

/** Each event once: the authorization server logs its audit events, too. */
function inOrder(events: readonly AuditEntry[], lines: readonly LogLine[]): string[] {
  const logged = new Set(lines.map(({ event }) => event))
  const unlogged = events.filter(({ event }) => !logged.has(event)).map(auditLine)
  return [...unlogged, ...lines.map(textOf)].toSorted()
}

function textOf({ time, service, event, msg, level, ...members }: LogLine): string {
  const fields = Object.entries(members).filter(([name]) => !OMITTED.has(name))
  return [time, service, event ?? msg ?? level, ...fieldsOf(Object.fromEntries(fields))].join(' ')
}

function notFound(requestId: string, hasLogs: boolean | undefined): CommandFailure {
  const advice = hasLogs ? 'the log lines' : 'pass --logs-stdin, because most requests are only in the logs'
  const problem = `there is no audit event of the request ${requestId}`
  return new CommandFailure('notFound', hasLogs ? `${problem}, and no line in ${advice}` : `${problem}; ${advice}`)
}
