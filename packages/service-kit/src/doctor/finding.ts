import { ConfigurationError } from '../process/environment-reader.js'

/** One result of `doctor`; a problem says why it matters and how to fix it. */
export type Finding =
  | { check: string; severity: 'ok'; what: string }
  | { check: string; severity: 'warning' | 'fatal'; what: string; why: string; fix: string }

export type Complaint = { what: string; why: string; fix: string }

export const ok = (check: string, what: string): Finding => ({ check, severity: 'ok', what })
export const warning = (check: string, complaint: Complaint): Finding => ({ check, severity: 'warning', ...complaint })
export const fatal = (check: string, complaint: Complaint): Finding => ({ check, severity: 'fatal', ...complaint })

/** `fatal` in production, `warning` on a developer's machine. */
export const graveInProduction = (isProduction: boolean) => (isProduction ? fatal : warning)

/**
 * Prevents a start with settings that `doctor` reports as fatal.
 * @throws {ConfigurationError} one line for each fatal finding, beginning with the variable
 */
export function refuseFatal(findings: readonly Finding[]): void {
  const lines = findings.flatMap((finding) =>
    finding.severity === 'fatal' ? [`${finding.check}: ${finding.what}; ${finding.fix}`] : []
  )
  if (lines.length > 0) throw new ConfigurationError(lines)
}

/** Findings for settings that cannot be read, with the messages of a failed start. */
export const findingsOfUnreadable = ({ problems }: ConfigurationError): readonly Finding[] =>
  problems.map((line) => {
    const [, check = 'settings', what = line] = /^([A-Z_]+): (.*)$/s.exec(line) ?? []
    const why = 'The service does not start with it.'
    return fatal(check, { what, why, fix: `set ${check}, see docs/settings.md` })
  })
