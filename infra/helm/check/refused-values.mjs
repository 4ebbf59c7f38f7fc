// Values that the chart must refuse, because they would render without an error and have an unexpected meaning.
const set = (...values) => values.flatMap((value) => ['--set', value])
const scaled = 'authorizationServer.autoscaling.enabled=true'

export const refusedValues = {
  'an unknown value': set('isuer=a'),
  'an unknown value inside': set('resourceServer.autoscaling.maxReplica=3'),
  'an issuer with a trailing slash': set('issuer=https://example.com/'),
  'an https issuer without the proxies in front': set(
    ...['issuer=https://example.com', 'resourceServer.config.TRUSTED_PROXIES=none']
  ),
  'an https resource URL without the proxies in front': set(
    ...['resourceUrl=https://example.com', 'authorizationServer.config.TRUSTED_PROXIES=none']
  ),
  'a secret among the settings': set('authorizationServer.config.COOKIE_KEYS=abc'),
  'a setting of the chart among the settings': set('authorizationServer.config.INTERNAL_LISTEN=:80'),
  'a secret without a key': set('authorizationServer.secretKeys.DATABASE_URL=postgres://db'),
  'a secret that is left out': set('resourceServer.secretKeys.PAGE_TOKEN_KEYS=null'),
  'another secret for migrations': set('migrations.secretKeys.REDIS_URL.key=a'),
  'an authority without a key': set('resourceServer.postgresCa.secret=a'),
  'an authority in two places': ['--set-json', 'resourceServer.postgresCa={"secret":"a","configMap":"b","key":"c"}'],
  'a logo of an unknown kind': set('authorizationServer.logo.configMap=a', 'authorizationServer.logo.key=logo.gif'),
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
  'the same in whole cores': [...set(scaled), ...['--set-string', 'authorizationServer.autoscaling.targetCPU=2']],
  'no request of processor time for an autoscaler': set(scaled, 'authorizationServer.resources.requests.cpu=null'),
  'a limit of processor time at the target of the autoscaler': set(
    'resourceServer.autoscaling.enabled=true',
    'resourceServer.resources.limits.cpu=0.6'
  ),
  'a disruption budget that lets nothing go': set('resourceServer.disruptionBudget.maxUnavailable=0')
}
