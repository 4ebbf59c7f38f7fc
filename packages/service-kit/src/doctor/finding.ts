import { ConfigurationError } from '../environment-reader.js'

/** One thing that `doctor` looked at; what is not well says why that matters and how it is mended. */
export type Finding =
  | { check: string; severity: 'ok'; what: string }
  | { check: string; severity: 'warning' | 'fatal'; what: string; why: string; mend: string }

export type Complaint = { what: string; why: string; mend: string }

export const ok = (check: string, what: string): Finding => ({ check, severity: 'ok', what })
export const warning = (check: string, complaint: Complaint): Finding => ({ check, severity: 'warning', ...complaint })
export const fatal = (check: string, complaint: Complaint): Finding => ({ check, severity: 'fatal', ...complaint })

/** What stops a deployment that strangers use is only worth a word on one's own machine. */
export const graveInProduction = (isProduction: boolean) => (isProduction ? fatal : warning)

/**
 * Refuses to start with settings that `doctor` calls fatal.
 * @throws {ConfigurationError} one line for each, which begins with the variable
 */
export function refuseFatal(findings: readonly Finding[]): void {
  const lines = findings.flatMap((finding) =>
    finding.severity === 'fatal' ? [`${finding.check}: ${finding.what}; ${finding.mend}`] : []
  )
  if (lines.length > 0) throw new ConfigurationError(lines)
}

/** Settings that cannot even be read, in the same words as at a start. */
export const findingsOfUnreadable = ({ problems }: ConfigurationError): readonly Finding[] =>
  problems.map((line) => {
    const [, check = 'settings', what = line] = /^([A-Z_]+): (.*)$/s.exec(line) ?? []
    const why = 'The service does not start with it.'
    return fatal(check, { what, why, mend: `Set ${check} as docs/settings.md says.` })
  })
