import type { Finding, Readiness } from '@valetkey/service-kit'

type Versions = Readonly<Record<'valetkey' | 'node' | 'postgres' | 'redis', string>>

/** Findings about records name clients, credentials and addresses; findings about the service do not. */
export type Examination = {
  findings: { service: readonly Finding[]; records: readonly Finding[] }
  versions: Versions
  /** How many apps or changes wait for approval. `off`: users register no apps. */
  queue: number | 'off' | 'unknown'
}

type Problem = { check: string; isFatal: boolean; what: string; why: string; fix: string }
type Row = { name: string; state: State; text: string }
type State = 'good' | 'warn' | 'bad'

export type Overview = {
  status: string
  statusState: State
  checks: readonly Row[]
  versions: readonly { name: string; text: string }[]
  /** How many findings of each severity, such as "1 fatal, 2 warnings"; empty without any. */
  problemCount: string
  /** Groups with at least one problem. */
  groups: readonly { title: string; problems: readonly Problem[] }[]
  passed: readonly { check: string; what: string }[]
  examined: string
  queue: string
}

const STATUS: Readonly<Record<Readiness['status'], { text: string; state: State }>> = {
  ok: { text: 'This process is ready.', state: 'good' },
  degraded: { text: 'This process is ready, but a part is unavailable.', state: 'warn' },
  unavailable: { text: 'This process is not ready: it should get no requests.', state: 'bad' },
  draining: { text: 'This process is stopping.', state: 'warn' }
}

const VERSION_NAMES = { valetkey: 'Valetkey', node: 'Node', postgres: 'Postgres', redis: 'Redis' } as const

/** @param examination undefined until the first one has ended */
export function describeOverview(
  readiness: Readiness | undefined,
  examination: { value: Examination; readAt: Date } | undefined
): Overview {
  const { text, state } = STATUS[readiness?.status ?? 'unavailable']
  const { findings, versions } = examination?.value ?? { findings: { service: [], records: [] }, versions: undefined }
  const records = findings.records.map(withoutRecords)
  const shown = [...findings.service, ...records]
  const groups = [
    { title: 'Service and settings', problems: problemsOf(findings.service) },
    { title: 'Clients, users and other records', problems: problemsOf(records) }
  ].filter(({ problems }) => problems.length > 0)
  return {
    status: text,
    statusState: state,
    checks: Object.entries(readiness?.checks ?? {}).map(([name, status]) => ({
      name,
      state: status === 'ok' ? 'good' : 'bad',
      text: status === 'ok' ? 'ok' : (readiness?.reasons?.[name] ?? 'unavailable')
    })),
    versions: [
      ...Object.entries(versions ?? {}).map(([name, version]) => ({
        name: VERSION_NAMES[name as keyof Versions],
        text: version
      })),
      ...shown.filter(({ check }) => check === 'migrations').map(({ what }) => ({ name: 'Migrations', text: what }))
    ],
    problemCount: countProblems(groups.flatMap(({ problems }) => problems)),
    groups,
    passed: shown.filter(({ severity }) => severity === 'ok'),
    queue: describeQueue(examination?.value.queue ?? 'off'),
    examined: examination?.readAt.toISOString().replace('T', ' ').slice(0, 19) ?? ''
  }
}

/** Fatal findings first. */
function problemsOf(findings: readonly Finding[]): Problem[] {
  return (['fatal', 'warning'] as const).flatMap((severity) =>
    findings.flatMap((finding) =>
      finding.severity === severity ? [{ ...finding, isFatal: severity === 'fatal' }] : []
    )
  )
}

function countProblems(problems: readonly Problem[]): string {
  const fatal = problems.filter(({ isFatal }) => isFatal).length
  const warnings = problems.length - fatal
  const parts = [
    fatal > 0 ? `${fatal} fatal` : '',
    warnings > 0 ? `${warnings} warning${warnings === 1 ? '' : 's'}` : ''
  ]
  return parts.filter((part) => part !== '').join(', ')
}

/** The time since the start, in its largest whole unit. */
export function describeUptime(seconds: number): string {
  const units = [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60]
  ] as const
  const [name, length] = units.find(([, unit]) => seconds >= unit) ?? (['second', 1] as const)
  const count = Math.floor(seconds / length)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

/** @returns an empty text if there is no queue */
function describeQueue(queue: Examination['queue']): string {
  if (queue === 'off') return ''
  if (queue === 'unknown') return 'Postgres does not respond.'
  return queue === 1 ? '1 app or change waits for approval.' : `${queue} apps or changes wait for approval.`
}

/** The listener has no sign-in, so the page names no client, credential, user or address. */
function withoutRecords(finding: Finding): Finding {
  return finding.severity === 'ok'
    ? { ...finding, what: 'no problem' }
    : { ...finding, what: 'valetkey doctor shows the details.' }
}
