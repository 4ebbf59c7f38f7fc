// What the values of each row of docs/kubernetes.md, "Wishes", must render. Each function throws if the documents differ;
// with the default values each must throw.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'

const AUTHORIZATION = 'valetkey-authorization-server'
const RESOURCE = 'valetkey-resource-server'
const JOBS = [`${AUTHORIZATION}-migration`, `${RESOURCE}-migration`, 'valetkey-credential', 'valetkey-test']

const named = (documents, kind, name) => documents.find((one) => one.kind === kind && one.metadata.name === name)
const pod = (documents, name = AUTHORIZATION, kind = 'Deployment') => named(documents, kind, name).spec.template
const container = (documents) => pod(documents).spec.containers[0]
const namesOf = (documents, kind) => documents.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name)
const includes = (list = [], wanted) =>
  assert.deepEqual(list.find((one) => isDeepStrictEqual(one, wanted)) ?? list, wanted)

const pods = {
  affinity(documents, { affinity }) {
    assert.deepEqual(pod(documents).spec.affinity, affinity)
    assert.deepEqual(pod(documents, JOBS[0], 'Job').spec.affinity, affinity)
  },
  'tolerations, nodes, priority'(documents, wanted) {
    for (const { spec } of [pod(documents), pod(documents, JOBS[0], 'Job')]) {
      assert.deepEqual(spec.tolerations, wanted.tolerations)
      assert.deepEqual(spec.nodeSelector, wanted.nodeSelector)
      assert.equal(spec.priorityClassName, wanted.priorityClassName)
    }
  },
  'topology spread'(documents) {
    const [, zone] = pod(documents).spec.topologySpreadConstraints
    assert.equal(`${zone.topologyKey} ${zone.whenUnsatisfiable}`, 'topology.kubernetes.io/zone DoNotSchedule')
  },
  'extra volumes'(documents, { extraVolumes, extraVolumeMounts }) {
    includes(pod(documents).spec.volumes, extraVolumes[0])
    includes(container(documents).volumeMounts, extraVolumeMounts[0])
    includes(container(documents).volumeMounts, { name: 'files', mountPath: '/run/valetkey', readOnly: true })
  },
  'extra environment': (documents, { extraEnv }) => assert.deepEqual(container(documents).env, extraEnv),
  'extra containers'(documents, { extraContainers: [open, confined] }) {
    const [own, ...extra] = pod(documents).spec.containers
    assert.deepEqual(extra, [{ ...open, securityContext: own.securityContext }, confined])
  },
  'init containers'(documents, _server, { jobs }) {
    for (const job of JOBS) {
      const { containers, initContainers } = pod(documents, job, 'Job').spec
      const { securityContext } = containers[0]
      assert.deepEqual(initContainers, [{ ...jobs.extraInitContainers[0], securityContext }])
    }
  },
  'pod labels and annotations'(documents, { podLabels, podAnnotations }) {
    const { labels, annotations } = pod(documents).metadata
    assert.equal(labels.team, podLabels.team)
    assert.equal(annotations['linkerd.io/inject'], podAnnotations['linkerd.io/inject'])
    assert.ok(annotations['checksum/settings'])
  },
  'image digests'(documents, { image: { digest } }) {
    assert.equal(container(documents).image, `valetkey/authorization-server@${digest}`)
    assert.equal(pod(documents, JOBS[0], 'Job').spec.containers[0].image, container(documents).image)
  },
  'probe timings'(documents) {
    const { startupProbe, livenessProbe, readinessProbe } = container(documents)
    assert.equal(startupProbe.failureThreshold, 60)
    assert.equal(livenessProbe.periodSeconds, 20)
    assert.deepEqual(
      [startupProbe.periodSeconds, livenessProbe.timeoutSeconds, readinessProbe.periodSeconds],
      [2, 5, 5]
    )
  }
}

const scaling = {
  'HPA behaviour'(documents, { autoscaling }) {
    const { behavior, metrics } = named(documents, 'HorizontalPodAutoscaler', AUTHORIZATION).spec
    assert.deepEqual(behavior, autoscaling.behavior)
    assert.equal(metrics[0].containerResource.container, container(documents).name)
  },
  'HPA custom metrics': (documents, { autoscaling }) =>
    assert.deepEqual(named(documents, 'HorizontalPodAutoscaler', AUTHORIZATION).spec.metrics, autoscaling.metrics)
}

const network = {
  'Service type and annotations'(documents, { service }) {
    const { metadata, spec } = named(documents, 'Service', AUTHORIZATION)
    assert.deepEqual(metadata.annotations, service.annotations)
    assert.deepEqual([spec.type, spec.externalTrafficPolicy], ['LoadBalancer', 'Local'])
    const others = documents.filter(({ kind, metadata }) => kind === 'Service' && metadata.name !== AUTHORIZATION)
    for (const other of others) assert.equal(other.spec.type, 'ClusterIP')
  },
  HTTPRoute(documents, { httpRoute }) {
    const { parentRefs, hostnames, rules } = named(documents, 'HTTPRoute', AUTHORIZATION).spec
    assert.deepEqual(parentRefs, httpRoute.parentRefs)
    assert.deepEqual(hostnames, ['localhost'])
    assert.deepEqual(rules, [
      {
        matches: [{ path: { type: 'PathPrefix', value: '/' } }],
        backendRefs: [{ name: AUTHORIZATION, port: 80 }]
      }
    ])
  }
}

const monitoring = {
  PrometheusRule(documents) {
    const { metadata, spec } = named(documents, 'PrometheusRule', 'valetkey-alerts')
    assert.equal(metadata.labels.release, 'monitoring')
    const all = readFileSync(new URL('../valetkey/alerts.yaml', import.meta.url), 'utf8').match(/(?<=- alert: )\w+/g)
    const found = spec.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))
    assert.deepEqual(
      found,
      all.filter((alert) => alert !== 'ValetkeyClockOffset')
    )
  },
  'ServiceMonitor relabelling'(documents, _server, { serviceMonitors }) {
    const [endpoint] = named(documents, 'ServiceMonitor', AUTHORIZATION).spec.endpoints
    assert.deepEqual(endpoint.relabelings, serviceMonitors.relabelings)
    assert.deepEqual(endpoint.metricRelabelings, serviceMonitors.metricRelabelings)
  }
}

const releases = {
  'hook annotations'(documents, _server, { jobs }) {
    const weights = { 'authorization-server-migration': '0', 'resource-server-migration': '0', credential: '5' }
    for (const [job, weight] of Object.entries(weights)) {
      assert.deepEqual(named(documents, 'Job', `valetkey-${job}`).metadata.annotations, {
        'helm.sh/hook': 'pre-install,pre-upgrade',
        'helm.sh/hook-weight': weight,
        ...jobs.annotations
      })
    }
  },
  'other names'(documents) {
    for (const { metadata } of documents) assert.match(metadata.name, /^identity-/)
    const settings = named(documents, 'ConfigMap', 'identity-resource-server').data
    assert.equal(settings.INTROSPECTION_URL, 'http://identity-authorization-server-internal:4001/introspect')
  },
  'only the authorization server'(documents) {
    assert.deepEqual(namesOf(documents, 'Deployment'), [AUTHORIZATION])
    assert.deepEqual(namesOf(documents, 'Job').sort(), [`${AUTHORIZATION}-migration`, 'valetkey-test'])
    const { ingress } = named(documents, 'NetworkPolicy', AUTHORIZATION).spec
    assert.ok(!ingress.some(({ ports }) => ports[0].port === 'internal'))
  },
  'only the resource server'(documents) {
    assert.deepEqual(namesOf(documents, 'Deployment'), [RESOURCE])
    assert.deepEqual(namesOf(documents, 'Job').sort(), [`${RESOURCE}-migration`, 'valetkey-test'])
    const settings = named(documents, 'ConfigMap', RESOURCE).data
    assert.equal(settings.INTROSPECTION_URL, 'https://auth.internal.example/introspect')
  },
  'restart by Reloader': (documents, { deploymentAnnotations }) =>
    assert.deepEqual(named(documents, 'Deployment', AUTHORIZATION).metadata.annotations, deploymentAnnotations),
  pooler(documents, { secretKeys }) {
    const [file, ...jobs] = [pod(documents), ...[JOBS[0], JOBS[2]].map((name) => pod(documents, name, 'Job'))]
    const { secret: name, key } = secretKeys.DATABASE_DIRECT_URL
    const sourcesOf = ({ spec }) => spec.volumes.find((volume) => volume.name === 'files').projected.sources
    includes(sourcesOf(file), { secret: { name, items: [{ key, path: 'database-direct-url' }] } })
    for (const job of jobs) includes(sourcesOf(job), { secret: { name, items: [{ key, path: 'database-url' }] } })
  },
  'sign-in providers and mail'(documents, { secretKeys }) {
    const { sources } = pod(documents).spec.volumes.find(({ name }) => name === 'files').projected
    const { key } = secretKeys.SMTP_URL
    includes(sources, { secret: { name: AUTHORIZATION, items: [{ key, path: 'smtp-url' }] } })
  },
  'valetkey apply'(documents, _server, { registry }) {
    assert.match(named(documents, 'ConfigMap', 'valetkey-registry').data['registry.yaml'], /client_id: photo-printer/)
    const { spec, metadata } = named(documents, 'Job', 'valetkey-registry')
    assert.equal(metadata.annotations['helm.sh/hook-weight'], '10')
    const [{ command }] = spec.template.spec.containers
    assert.deepEqual(command.slice(1), [
      'apply',
      '--file',
      '/run/registry/registry.yaml',
      '--secrets-dir',
      '/run/registry-secrets'
    ])
    const { key, secret } = registry.secrets['photo-printer']
    const source = { secret: { name: secret, items: [{ key, path: 'photo-printer' }] } }
    includes(spec.template.spec.volumes.find(({ name }) => name === 'registry-secrets').projected.sources, source)
  },
  'valetkey apply with your file'(documents) {
    const { volumes, containers } = pod(documents, 'valetkey-registry', 'Job').spec
    const source = { configMap: { name: 'registry', items: [{ key: 'valetkey.yaml', path: 'registry.yaml' }] } }
    includes(volumes.find(({ name }) => name === 'registry').projected.sources, source)
    assert.deepEqual(containers[0].command, ['valetkey', 'apply', '--file', '/run/registry/registry.yaml'])
  }
}

/** @type {Record<string, (documents: object[], server: object, values: object) => void>} `server`: the authorization server's values */
export const wishes = { ...pods, ...scaling, ...network, ...monitoring, ...releases }

/** @returns {string[]} */
export function unmetBy(documents, wish, values) {
  try {
    wishes[wish](documents, values.authorizationServer ?? {}, values)
    return []
  } catch (error) {
    return [error.message]
  }
}
