import { printResult } from '../process/command-line.js'
import type { Finding } from './finding.js'

const ORDER = ['fatal', 'warning', 'ok'] as const

/** @returns the number of fatal findings */
export function printFindings(
  context: { out: (text: string) => void },
  json: boolean | undefined,
  findings: readonly Finding[]
): number {
  const sorted = ORDER.flatMap((severity) => findings.filter((finding) => finding.severity === severity))
  const count = (severity: Finding['severity']) => findings.filter((finding) => finding.severity === severity).length
  const document = { findings: sorted, fatal: count('fatal'), warnings: count('warning') }
  const total = `${count('fatal')} fatal, ${count('warning')} warnings, ${count('ok')} ok`
  printResult(context, json, document, [...sorted.flatMap(linesOf), total])
  return document.fatal
}

function linesOf(finding: Finding): readonly string[] {
  const head = `${finding.severity.padEnd(8)} ${finding.check}: ${finding.what}`
  return finding.severity === 'ok'
    ? [head]
    : [head, `${' '.repeat(9)}${finding.why}`, `${' '.repeat(9)}Fix: ${finding.fix}`]
}
