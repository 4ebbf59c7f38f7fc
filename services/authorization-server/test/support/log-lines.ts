import { buildLogger, type Logger } from '@valetkey/service-kit'

export type LogLine = Readonly<Record<string, unknown>> & { event?: string; reqId?: string }

/** The real logger of a service at the lowest level, with its lines. */
export function collectLog(): { logger: Logger; lines: LogLine[]; text(): string } {
  const written: string[] = []
  const lines: LogLine[] = []
  const logger = buildLogger('test', 'trace', {
    write(line) {
      written.push(line)
      lines.push(JSON.parse(line))
    }
  })
  return { logger, lines, text: () => written.join('') }
}
