import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { files, matches, read, sorted } from './support/documents.js'
import { promtool } from './support/promtool.js'
import { createTokenSource } from './system/load/issue-tokens.mjs'
import { type Cluster, startCluster } from './system/start-cluster.mjs'

type Case = { alertname: string; exp_alerts: unknown[] }
type Scenario = { input_series: { series: string }[]; alert_rule_test?: Case[] }

const rules = (parse(read('infra/helm/valetkey/alerts.yaml')).groups as { rules: { alert: string }[] }[]).flatMap(
  (group) => group.rules
)
const testFiles = files.filter((file) => file.startsWith('infra/alerts/test/'))
const scenarios = testFiles.flatMap((file) => parse(read(file)).tests as Scenario[])
const cases = scenarios.flatMap(({ alert_rule_test = [] }) => alert_rule_test)

let cluster: Cluster
const exposed = { authorizationServers: '', resourceServers: '' }
beforeAll(async () => {
  const settings = { SECURITY_MAILS: 'on', SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'no-reply@example.com' }
  cluster = await startCluster({ authorizationServers: 1, resourceServers: 1, cacheSeconds: 60, settings })
  const token = await (await createTokenSource(cluster)).nextToken()
  await fetch(`${cluster.resourceServers[0]?.url}/v1/files`, { headers: { authorization: `Bearer ${token}` } })
  exposed.authorizationServers = await metricsAt(cluster.authorizationServers[0]?.operatorPort)
  // The feed has no round trip before its first proof.
  do exposed.resourceServers = await metricsAt(cluster.resourceServers[0]?.operatorPort)
  while (!/^valetkey_feed_round_trip_seconds /m.test(exposed.resourceServers))
})
afterAll(() => cluster.stop())

async function metricsAt(port: number | undefined): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
}

/** The labels of a metric, as one of both services exposes it; undefined where none does. */
function labelsOf(metric: string): string[] | undefined {
  const sample = new RegExp(`^${metric}(\\{.*\\})? \\S+$`, 'm').exec(Object.values(exposed).join('\n'))
  return sample === null ? undefined : matches(sample[1] ?? '', /(\w+)="/g)
}

describe('infra/helm/valetkey/alerts.yaml', () => {
  test('Prometheus accepts the rules', () => {
    expect(promtool(['check', 'rules', 'infra/helm/valetkey/alerts.yaml'])).toMatchObject({ code: 0 })
  })

  test('each alert fires in its cases, with the expected text, and in no others', () => {
    const { code, output } = promtool(['test', 'rules', ...testFiles])
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('SUCCESS') })
  })

  test.each(rules.map(({ alert }) => [alert]))(
    '%s has a case in which it fires and a case in which it does not',
    (alert) => {
      const own = cases.filter(({ alertname }) => alertname === alert)
      expect(own.some(({ exp_alerts }) => exp_alerts.length > 0)).toBe(true)
      expect(own.some(({ exp_alerts }) => exp_alerts.length === 0)).toBe(true)
    }
  )

  test('the series in the cases have names and labels of real metrics', () => {
    const series = scenarios.flatMap(({ input_series }) => input_series.map((each) => each.series))
    const unreal = series
      .filter((each) => each.startsWith('valetkey_'))
      .filter((each) => {
        const labels = labelsOf(each.split('{')[0] ?? '')
        return !matches(each, /(\w+)="/g).every((label) => ['job', 'instance', ...(labels ?? [])].includes(label))
      })
    expect(sorted(unreal)).toEqual([])
  })

  test('every case is about an existing alert', () => {
    const names = new Set(rules.map(({ alert }) => alert))
    expect(cases.filter(({ alertname }) => !names.has(alertname))).toEqual([])
  })
})

describe('/metrics of both services', () => {
  test.each(['authorizationServers', 'resourceServers'] as const)('%s: passes `promtool check metrics`', (service) => {
    expect(exposed[service]).toContain('valetkey_build_info{version="')
    expect(promtool(['check', 'metrics'], exposed[service])).toEqual({ code: 0, output: '' })
  })
})
