// Values that the chart must refuse, because they would render without an error and have an unexpected meaning.
const set = (...values) => values.flatMap((value) => ['--set', value])
const json = (path, value) => ['--set-json', `${path}=${JSON.stringify(value)}`]
const scaled = 'authorizationServer.autoscaling.enabled=true'

export const refusedValues = {
  'an unknown value': set('isuer=a'),
  'an unknown value inside': set('resourceServer.autoscaling.maxReplica=3'),
  'an issuer with a trailing slash': set('issuer=https://example.com/'),
  'an https issuer without the proxies in front': set(
    'issuer=https://example.com',
    'resourceServer.config.TRUSTED_PROXIES=none'
  ),
  'an https resource URL without the proxies in front': set(
    'resourceUrl=https://example.com',
    'authorizationServer.config.TRUSTED_PROXIES=none'
  ),
  'a secret among the settings': set('authorizationServer.config.COOKIE_KEYS=abc'),
  'a setting of the chart among the settings': set('authorizationServer.config.INTERNAL_LISTEN=:80'),
  'a secret without a key': set('authorizationServer.secretKeys.DATABASE_URL=postgres://db'),
  'a secret that is left out': set('resourceServer.secretKeys.PAGE_TOKEN_KEYS=null'),
  'another secret for migrations': set('migrations.secretKeys.REDIS_URL.key=a'),
  'an authority without a key': set('resourceServer.postgresCa.secret=a'),
  'an authority in two places': ['--set-json', 'resourceServer.postgresCa={"secret":"a","configMap":"b","key":"c"}'],
  'a title that is too long': set(`resourceServer.title=${'x'.repeat(101)}`),
  'a logo of an unknown kind': set('authorizationServer.logo.configMap=a', 'authorizationServer.logo.key=logo.gif'),
  'a page of another kind': set(
    'authorizationServer.pages.menu\\.html.configMap=a',
    'authorizationServer.pages.menu\\.html.key=b'
  ),
  'the path of pages among the settings': set('authorizationServer.config.PAGES_DIR=/pages'),
  'the path of a logo among the settings': set('authorizationServer.config.PRODUCT_LOGO=/logo.svg'),
  'the path of a logo in a Secret': set('authorizationServer.secretKeys.PRODUCT_LOGO.key=logo.svg'),
  'operators by address': set('networkPolicy.operatorFrom[0].ipBlock.cidr=10.0.0.0/8'),
  'operators from everywhere': ['--set-json', 'networkPolicy.operatorFrom=[{"namespaceSelector":{}}]'],
  'a misspelt peer': ['--set-json', 'networkPolicy.publicFrom=[{"nameSpaceSelector":{}}]'],
  'a database without a port': ['--set-json', 'networkPolicy.egress.postgres.ports=[]'],
  'monitoring that the network policies refuse': set('serviceMonitors.enabled=true'),
  'a request of processor time below the target of the autoscaler': set(
    scaled,
    'authorizationServer.resources.requests.cpu=250m'
  ),
  'the same in whole cores': [...set(scaled), '--set-string', 'authorizationServer.autoscaling.targetCPU=2'],
  'no request of processor time for an autoscaler': set(scaled, 'authorizationServer.resources.requests.cpu=null'),
  'a limit of processor time at the target of the autoscaler': set(
    'resourceServer.autoscaling.enabled=true',
    'resourceServer.resources.limits.cpu=0.6'
  ),
  'a disruption budget that lets nothing go': set('resourceServer.disruptionBudget.maxUnavailable=0'),
  ...refusedInPods(),
  ...refusedOutsidePods()
}

function refusedInPods() {
  const server = 'authorizationServer'
  return {
    'a misspelt affinity': json(`${server}.affinity`, { nodeAfinity: {} }),
    'a label that a selector uses': json(`${server}.podLabels`, { 'app.kubernetes.io/component': 'a' }),
    'a setting of the chart in the environment': json(`${server}.extraEnv`, [{ name: 'ISSUER', value: 'a' }]),
    'a secret in the environment': json(`${server}.extraEnv`, [{ name: 'COOKIE_KEYS', value: 'a' }]),
    'the file of a secret in the environment': json('jobs.extraEnv', [{ name: 'DATABASE_URL_FILE', value: 'a' }]),
    'a direct URL in the environment': json('jobs.extraEnv', [{ name: 'DATABASE_DIRECT_URL', value: 'a' }]),
    'a drain delay that the grace period does not include': json(`${server}.extraEnv`, [
      { name: 'DRAIN_DELAY', value: '60' }
    ]),
    'a drain delay in a Secret': set(`${server}.secretKeys.DRAIN_DELAY.key=a`),
    'a drain delay of the resource server in a Secret': set('resourceServer.secretKeys.DRAIN_DELAY.key=a'),
    'a drain delay in a file': set('resourceServer.config.DRAIN_DELAY_FILE=/etc/a'),
    'a misspelt variable': json(`${server}.extraEnv`, [{ name: 'A', valeu: 'a' }]),
    "a volume called like the chart's": json(`${server}.extraVolumes`, [{ name: 'files', emptyDir: {} }]),
    'a volume over the secrets': json(`${server}.extraVolumeMounts`, [{ name: 'a', mountPath: '/run/valetkey/a' }]),
    'a volume over the program': json(`${server}.extraVolumeMounts`, [{ name: 'a', mountPath: '/app' }]),
    'a misspelt mount': json(`${server}.extraVolumeMounts`, [{ name: 'a', mountPath: '/a', readonly: true }]),
    "a container called like the chart's": json(`${server}.extraContainers`, [{ name: 'apply', image: 'a' }]),
    'a container without an image': json('jobs.extraInitContainers', [{ name: 'a' }]),
    'a digest that is none': set(`${server}.image.digest=latest`),
    'a misspelt timing of a probe': set(`${server}.probes.liveness.periodSecond=5`),
    'another path of a probe': set(`${server}.probes.liveness.path=/`),
    'a misspelt value of jobs': set('jobs.timeoutSecond=5')
  }
}

function refusedOutsidePods() {
  return {
    'a Service of another type': set('authorizationServer.service.type=ExternalName'),
    'a misspelt value of a Service': set('authorizationServer.service.nodeport=30000'),
    'a route without a Gateway': set('authorizationServer.httpRoute.enabled=true'),
    'a misspelt Gateway': json('resourceServer.httpRoute', {
      enabled: true,
      parentRefs: [{ name: 'a', section: 'b' }]
    }),
    'a misspelt behaviour of the autoscaler': json('resourceServer.autoscaling.behavior', { scaledown: {} }),
    'a misspelt metric of the autoscaler': json('resourceServer.autoscaling.metrics', [{ type: 'Pods', pod: {} }]),
    'an autoscaler without a metric': set(scaled, 'authorizationServer.autoscaling.targetCPU='),
    'fewer pods at most than at least': set(scaled, 'authorizationServer.autoscaling.maxReplicas=1'),
    'a misspelt relabelling': json('serviceMonitors.relabelings', [{ targetlabel: 'a' }]),
    'a misspelt value of the alerts': set('prometheusRule.label.a=b'),
    'a misspelt kind of the registry': json('registry.records', { client: [{ client_id: 'a' }] }),
    'two registries': json('registry', { records: { clients: [] }, file: { configMap: 'a', key: 'b' } }),
    'a registry without its server': [
      ...json('registry.records', { clients: [] }),
      ...set('authorizationServer.enabled=false', 'resourceServer.introspectionUrl=https://a.example')
    ],
    'a name that is too long': set(`fullnameOverride=${'a'.repeat(33)}`),
    'a name that DNS refuses': set('fullnameOverride=My_Server'),
    'a resource server without any authorization server': set('authorizationServer.enabled=false'),
    'no service at all': set('authorizationServer.enabled=false', 'resourceServer.enabled=false')
  }
}
