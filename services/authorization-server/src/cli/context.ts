import type { Database } from '@valetkey/service-kit'

/** What commands get from the process, so that tests can give them something else. */
export type CommandContext = {
  databaseUrl: () => string
  database: () => Database
  stdin: NodeJS.ReadableStream
  /** stdout: results only. */
  out: (text: string) => void
  /** stderr: everything else. */
  say: (text: string) => void
}

/** Columns padded to the widest cell. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = header.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)))
  return [header, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  )
}
