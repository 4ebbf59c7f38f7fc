import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parser } from '@prometheus-io/lezer-promql'
import { parse } from 'yaml'
import { CORE_EVENTS } from '../services/authorization-server/src/platform/audit/audit-event.js'
import { anchorsOf, code, files, matches, read, rowsBelow, sorted } from './support/documents.js'
import { createTokenSource } from './system/load/issue-tokens.mjs'
import { type Cluster, startCluster } from './system/start-cluster.mjs'

type Rule = {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}
type Panel = { title: string; type: string; targets?: { expr: string }[] }

const groups = parse(read('infra/helm/valetkey/alerts.yaml')).groups as { name: string; rules: Rule[] }[]
const rules = groups.flatMap((group) => group.rules)
const panels = JSON.parse(read('infra/alerts/dashboard.json')).panels as Panel[]
const page = read('docs/metrics.md')

let cluster: Cluster
/** The exposed metrics of both servers: type, and names of samples. */
const exposed: Record<'authorization' | 'resource', Map<string, string>> = {
  authorization: new Map(),
  resource: new Map()
}

const texts: string[] = []

beforeAll(async () => {
  const apiSettings = { DPOP: 'allowed' }
  const settings = { SECURITY_MAILS: 'on', SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'no-reply@example.com' }
  cluster = await startCluster({ authorizationServers: 1, resourceServers: 1, cacheSeconds: 60, settings, apiSettings })
  const token = await (await createTokenSource(cluster)).nextToken()
  const [authorization] = cluster.authorizationServers
  const [resource] = cluster.resourceServers
  await fetch(`${resource?.url}/v1/files`, { headers: { authorization: `Bearer ${token}` } })
  exposed.authorization = await metricsAt(authorization?.operatorPort)
  do exposed.resource = await metricsAt(resource?.operatorPort)
  while (!exposed.resource.has('valetkey_feed_round_trip_seconds'))
})
afterAll(() => cluster.stop())

async function metricsAt(port: number | undefined): Promise<Map<string, string>> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  const text = await response.text()
  texts.push(text)
  expect(response.status).toBe(200)
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  const samples = matches(text, /^([a-z0-9_]+)(?:\{.*\})? \S+$/gm)
  // Metrics of the feed have no sample before its first proof.
  const isSampled = (name: string) => samples.some((sample) => sample === name || sample.startsWith(`${name}_`))
  return new Map([...types].filter(([name]) => isSampled(name)))
}

/** All values of a label in the exposed metrics. */
const labelValues = (metric: string, label: string): string[] =>
  matches(texts.join('\n'), new RegExp(`^${metric}\\{.*${label}="([^"]*)"`, 'gm'))

const ownMetrics = (metrics: Map<string, string>) => [...metrics.keys()].filter((name) => name.startsWith('valetkey_'))

type Selector = { metric: string; matchers: { label: string; values: string[] }[] }

/** The selectors of an expression, parsed with the grammar of Prometheus. @throws if it is invalid */
function selectorsIn(expression: string): Selector[] {
  const selectors: Selector[] = []
  parser.parse(expression).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`no expression: ${expression.slice(node.from - 20, node.to + 20)}`)
      const text = expression.slice(node.from, node.to)
      if (node.name === 'VectorSelector') {
        const identifier = node.node.getChild('Identifier')
        if (identifier !== null) {
          selectors.push({ metric: expression.slice(identifier.from, identifier.to), matchers: [] })
        }
      }
      const [, label, values] = (node.name === 'UnquotedLabelMatcher' && /^(\w+)[!=~]+"(.*)"$/.exec(text)) || []
      if (label && values !== undefined) selectors.at(-1)?.matchers.push({ label, values: values.split('|') })
    }
  })
  return selectors
}

const metricsIn = (expression: string): string[] => selectorsIn(expression).map(({ metric }) => metric)

/** The metric of a sample, by name. */
function metricOf(sample: string): string {
  const all = new Map([...exposed.authorization, ...exposed.resource])
  const parts = /^(.+)_(?:bucket|sum|count)$/.exec(sample)
  const isPart = ['histogram', 'summary'].includes(all.get(parts?.[1] ?? '') ?? '')
  return isPart ? (parts?.[1] ?? '') : sample
}

const isKnown = (sample: string) => {
  const metric = metricOf(sample)
  return sample === 'up' || exposed.authorization.has(metric) || exposed.resource.has(metric)
}

describe('docs/metrics.md: exactly the metrics of the services', () => {
  test.each([
    { heading: '## Authorization server', service: 'authorization' as const },
    { heading: '## Resource server', service: 'resource' as const }
  ])('$heading', ({ heading, service }) => {
    const named = ['## Both services', heading].flatMap((each) =>
      rowsBelow(page, each).flatMap(([metric]) => code(metric))
    )
    expect(sorted(named)).toEqual(sorted(ownMetrics(exposed[service])))
  })

  test('every other metric named on a page exists', () => {
    const pages = files.filter((file) => /^docs\/(metrics|alerts|runbooks|rotation)\.md$/.test(file))
    const named = pages.flatMap((file) => matches(read(file), /\b((?:valetkey|process|nodejs)_[a-z0-9_]+)\b/g))
    const metrics = named.filter((name) =>
      /^(process|nodejs)_|_total$|_seconds$|^valetkey_(feed|listen|token)/.test(name)
    )
    expect(metrics.length).toBeGreaterThan(30)
    expect(sorted(metrics.filter((name) => !isKnown(name)))).toEqual([])
  })
})

describe('label values are those of the source, and none counts as "other"', () => {
  test('limit', () => {
    const kinds = matches(read('services/authorization-server/src/platform/rate-limits/rules.ts'), /`([a-z-]+):\$/g)
    expect(kinds.length).toBeGreaterThan(0)
    expect(sorted(labelValues('valetkey_limiter_refusals_total', 'limit'))).toEqual(
      sorted([...kinds, 'sign-in-waiting'])
    )
  })

  test('reason of a token that a guard refused', () => {
    const [, named = ''] = /Reasons of `access_token_refused`: ([^.]+)\./.exec(read('docs/logs.md')) ?? []
    expect(sorted(labelValues('valetkey_access_tokens_refused_total', 'reason'))).toEqual(sorted(code(named)))
  })

  const groupNames = matches(read('packages/service-kit/src/metrics/route-groups.ts'), /^ {2}'([a-z_]+)',?$/gm)

  test('route_group: the page has exactly one row for each', () => {
    expect(groupNames).toContain('sign_in')
    const named = rowsBelow(page, '### Groups of routes')
    expect(sorted(named.flatMap(([group]) => code(group)))).toEqual(sorted([...groupNames, 'unknown']))
  })

  test('every metric and label in rules and dashboard exists', () => {
    const expressions = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    ]
    const known = (metric: string, label: string) =>
      label === 'route_group' ? groupNames : label === 'status' ? ['5xx', '4xx'] : labelValues(metric, label)
    const unknown = expressions
      .flatMap(selectorsIn)
      .flatMap(({ metric, matchers }) =>
        matchers
          .filter(({ label }) => !['job', 'instance', 'route', 'method', 'event'].includes(label))
          .flatMap(({ label, values }) => values.filter((value) => !known(metric, label).includes(value)))
      )
    expect(unknown).toEqual([])
  })

  test('event: those used by alerts exist from the start', () => {
    const waitedFor = rules
      .flatMap(({ expr }) => matches(expr, /event=~?"([^"]+)"/g))
      .flatMap((names) => names.split('|'))
    expect(labelValues('valetkey_audit_events_total', 'event')).toEqual(expect.arrayContaining(waitedFor))
    expect(waitedFor.filter((name) => !(name in CORE_EVENTS))).toEqual([])
  })
})

describe('metrics follow the conventions of Prometheus', () => {
  test.each(['authorization', 'resource'] as const)('%s server', (service) => {
    for (const [name, type] of exposed[service]) {
      if (!name.startsWith('valetkey_')) continue
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter'])
      expect(name).not.toMatch(/milliseconds|_ms$|_count$|_sum$/)
    }
  })
})

describe('infra/helm/valetkey/alerts.yaml: syntax', () => {
  test('every alert has a unique name and only the fields of Prometheus', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
    expect(new Set(groups.map(({ name }) => name)).size).toBe(groups.length)
    for (const group of groups) expect(Object.keys(group)).toEqual(['name', 'rules'])
    const known = ['alert', 'expr', 'for', 'labels', 'annotations']
    expect(rules.flatMap((rule) => Object.keys(rule).filter((key) => !known.includes(key)))).toEqual([])
  })

  test.each(rules.map((rule) => [rule.alert, rule] as const))('%s', (alert, rule) => {
    expect(['critical', 'warning']).toContain(rule.labels.severity)
    if (rule.for !== undefined) expect(rule.for).toMatch(/^\d+[smh]$/)
    const metrics = metricsIn(rule.expr)
    expect(metrics.length).toBeGreaterThan(0)
    expect(metrics.filter((name) => !isKnown(name))).toEqual([])
    // A label that the expression aggregates away would be empty in the message.
    expect(rule.annotations.summary).not.toBe('')
    const [file = '', anchor = ''] = rule.annotations.runbook.split('#')
    expect(anchor).toBe(alert.toLowerCase())
    expect(anchorsOf(file)).toContain(anchor)
  })

  test('docs/alerts.md has exactly one heading for each', () => {
    const headings = matches(read('docs/alerts.md'), /^## (.+)$/gm)
    expect(headings.sort()).toEqual(rules.map(({ alert }) => alert).sort())
  })
})

describe('infra/alerts/dashboard.json', () => {
  const graphs = panels.filter(({ type }) => type !== 'row')

  test.each(graphs.map((panel) => [panel.title, panel] as const))('%s', (_title, { targets }) => {
    expect(targets?.length).toBeGreaterThan(0)
    const metrics = (targets ?? []).flatMap(({ expr }) => metricsIn(expr))
    expect(metrics.filter((name) => !isKnown(name))).toEqual([])
  })

  test('every graph shows the chosen service and process', () => {
    const expressions = graphs.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    const selectors = expressions.flatMap((expr) => matches(expr, /\{([^}]*)\}/g))
    expect(selectors.length).toBeGreaterThan(graphs.length)
    expect(selectors.filter((text) => !text.startsWith('job=~"$job", instance=~"$instance"'))).toEqual([])
    expect(expressions.filter((expr) => !expr.includes('{'))).toEqual([])
  })

  test('every runbook that it names exists', () => {
    const named = matches(read('infra/alerts/dashboard.json'), /docs\/alerts\.md#([a-z]+)/g)
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((anchor) => !anchorsOf('docs/alerts.md').includes(anchor))).toEqual([])
  })
})

test.each(['sum(rate(x[5m])', 'x >', 'rate(x[5q])'])('an invalid expression is detected: %s', (expression) => {
  expect(() => metricsIn(expression)).toThrow('no expression')
})
