// Rules for every rendering, with any values. Each rule returns its violations.
import { selects } from './network-policies.mjs'

/** A chart that renders a Secret writes it into the release's history, which has more readers. */
export const noSecretIsRendered = (documents) =>
  documents.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => `Secret ${metadata.name} is rendered`)

export const podsAreConfined = (documents) => podsOf(documents).flatMap(({ name, spec }) => confinementOf(name, spec))

function confinementOf(name, spec) {
  const { securityContext: pod } = spec
  const complaints = []
  if (pod?.runAsNonRoot !== true || !(pod.runAsUser > 0)) complaints.push(`${name} may run as root`)
  if (pod?.seccompProfile?.type !== 'RuntimeDefault') complaints.push(`${name} has no seccomp profile`)
  if (spec.automountServiceAccountToken !== false) complaints.push(`${name} gets a token of the cluster`)
  // The first container is the chart's; others are the operator's.
  const [{ securityContext: own, resources, env = [] }] = spec.containers
  const isConfined = own?.readOnlyRootFilesystem === true && own.allowPrivilegeEscalation === false
  if (!isConfined || !own.capabilities?.drop?.includes('ALL')) complaints.push(`${name} is not confined`)
  if (!resources?.requests?.memory || !resources.limits?.memory) complaints.push(`${name} has no memory bounds`)
  const exposed = env.filter((one) => /(PASSWORD|SECRET|KEYS|DATABASE(_DIRECT)?_URL|REDIS_URL)$/.test(one.name))
  if (exposed.length > 0) complaints.push(`${name} has a secret in its environment`)
  return complaints
}

/** A service exposes one listener only: a policy or an Ingress for one must not open another. */
export const servicesHaveOnePort = (documents) =>
  documents
    .filter(({ kind, spec }) => kind === 'Service' && spec.ports.length !== 1)
    .map(({ metadata }) => `Service ${metadata.name} has more than one port`)

/** A selector that matches no pods renders without an error. */
export function selectorsFindPods(documents) {
  const pods = podsOf(documents)
  const selectorOf = {
    Service: ({ selector }) => ({ matchLabels: selector }),
    NetworkPolicy: ({ podSelector }) => podSelector,
    PodDisruptionBudget: ({ selector }) => selector,
    Deployment: ({ selector }) => selector
  }
  return documents.flatMap(({ kind, metadata, spec }) => {
    const selector = selectorOf[kind]?.(spec)
    if (selector === undefined) return []
    const found = pods.filter(({ labels }) => selects(selector, labels))
    const isOfJobs = found.length > 0 && found.every((pod) => pod.kind === 'Job')
    const isRight = kind === 'NetworkPolicy' && isOfJobs ? true : found.length === 1 && !isOfJobs
    return isRight ? [] : [`${kind} ${metadata.name} selects ${found.map(({ name }) => name).join(', ') || 'nothing'}`]
  })
}

/** What scales a deployment, and a deployment that also says how many there are, undo each other. */
export const replicasHaveOneMaster = (documents) =>
  documents
    .filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
    .flatMap(({ spec: { scaleTargetRef, minReplicas, maxReplicas } }) => {
      const target = documents.find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === scaleTargetRef.name
      )
      if (target === undefined) return [`nothing is named ${scaleTargetRef.name}`]
      if (minReplicas > maxReplicas) return [`${scaleTargetRef.name}: at least ${minReplicas}, at most ${maxReplicas}`]
      return target.spec.replicas === undefined ? [] : [`${scaleTargetRef.name} has a number of its own`]
    })

/**
 * The scheduler reserves what a pod requests. With less than the autoscaler's target, nodes are filled with pods that may never
 * get as much processor time as makes it start another one; a limit at the target or below it has the same effect.
 */
export const podsAreGivenWhatTheyAreScaledBy = (documents) =>
  documents
    .filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
    .flatMap(({ spec: { scaleTargetRef, metrics } }) => {
      const { spec } = podsOf(documents).find(({ name }) => name === `Deployment ${scaleTargetRef.name}`)
      const { requests, limits } = spec.containers[0].resources
      const ours = metrics.filter(({ type }) => type === 'ContainerResource')
      return ours.flatMap(({ containerResource: { target } }) => {
        const wanted = millicores(target.averageValue)
        const isReserved = millicores(requests?.cpu ?? 0) >= wanted
        const isReachable = limits?.cpu === undefined || millicores(limits.cpu) > wanted
        return [
          ...(isReserved ? [] : [`${scaleTargetRef.name} requests ${requests?.cpu}, but is scaled at ${wanted}m`]),
          ...(isReachable ? [] : [`${scaleTargetRef.name} gets ${limits.cpu} at most, but is scaled at ${wanted}m`])
        ]
      })
    })

const millicores = (quantity) =>
  String(quantity).endsWith('m') ? Number.parseInt(quantity, 10) : Number(quantity) * 1_000

/** After SIGTERM a service takes 15 seconds at most; before it is the pause in which balancers remove the pod. */
export const podsGetTheTimeToStop = (documents) =>
  podsOf(documents)
    .filter(({ kind }) => kind === 'Deployment')
    .filter(({ spec }) => {
      const [, seconds = '0'] = spec.containers[0].lifecycle?.preStop.exec.command ?? []
      const [{ configMapRef }] = spec.containers[0].envFrom
      const settings = documents.find(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef.name
      )
      const delay = settings.data.DRAIN_DELAY ?? '0'
      return spec.terminationGracePeriodSeconds <= Number(seconds) + Number(delay) + 15
    })
    .map(({ name }) => `${name} is killed before it has stopped`)

const PLACEMENT = ['serviceAccountName', 'priorityClassName', 'nodeSelector', 'tolerations']

/** A job runs a service's program, on the nodes that allow that service's pods: elsewhere it would wait forever for a node. */
export const jobsGoWhereTheirServiceGoes = (documents) => {
  const placements = new Map(podsOf(documents).map(({ kind, spec }) => [`${kind} ${imageOf(spec)}`, placementOf(spec)]))
  return podsOf(documents)
    .filter(({ kind }) => kind === 'Job')
    .filter(({ spec }) => placements.get(`Deployment ${imageOf(spec)}`) !== placementOf(spec) || isKeptApart(spec))
    .map(({ name }) => `${name} goes elsewhere than the pods with its image`)
}

const imageOf = ({ containers: [{ image }] }) => image
const placementOf = (spec) => JSON.stringify([...PLACEMENT.map((field) => spec[field]), spec.affinity?.nodeAffinity])
/** The pod is kept apart from other pods, which may fill all nodes. */
const isKeptApart = ({ affinity = {} }) => 'podAffinity' in affinity || 'podAntiAffinity' in affinity

/** alerts.yaml finds the jobs by this word. */
export const scrapedJobsAreNamed = (documents) =>
  documents
    .filter(({ kind }) => kind === 'ServiceMonitor')
    .filter(({ metadata, spec: { endpoints } }) => {
      const { replacement } = endpoints[0].relabelings?.find(({ targetLabel }) => targetLabel === 'job') ?? metadata
      return !(replacement ?? metadata.name).includes('valetkey')
    })
    .map(({ metadata }) => `alerts do not find the job of ${metadata.name}`)

const MISSING = {
  ValetkeyAuthorizationServerMissing: 'authorization-server',
  ValetkeyResourceServerMissing: 'resource-server'
}

/** Alerts about the absence of a service are those of the release that has it. */
export const alertsAreOfThisRelease = (documents) => {
  const own = podsOf(documents).map(({ component }) => component)
  const rules = documents.filter(({ kind }) => kind === 'PrometheusRule').flatMap(({ spec }) => spec.groups)
  const alerts = rules.flatMap((group) => group.rules.map(({ alert }) => alert))
  const isOdd = ([alert, component]) => alerts.length > 0 && alerts.includes(alert) !== own.includes(component)
  return Object.entries(MISSING)
    .filter(isOdd)
    .map(([alert]) => `${alert} does not fit the services of this release`)
}

const PROBES = { startupProbe: '/livez', livenessProbe: '/livez', readinessProbe: '/readyz' }

export const serversAreProbed = (documents) =>
  podsOf(documents)
    .filter(({ kind }) => kind === 'Deployment')
    .flatMap(({ name, spec: { containers } }) => {
      const wrong = Object.entries(PROBES).filter(([probe, path]) => {
        const { httpGet } = containers[0][probe] ?? {}
        return httpGet?.path !== path || httpGet.port !== 'operator'
      })
      return wrong.map(([probe, path]) => `${name}: ${probe} does not ask the operator listener for ${path}`)
    })

/** A pod gets only the keys of the Secrets that it reads: every mounted file must be referenced by a setting. */
export const noFileIsMountedInVain = (documents) =>
  podsOf(documents).flatMap(({ name, spec }) => {
    const { mounted, named } = filesOf(spec, documents)
    return mounted.filter((file) => !named.includes(file)).map((file) => `${name} gets ${file} in vain`)
  })

/** The converse: every file that a setting or a command references must be mounted. */
export const filesThatAreNamedAreMounted = (documents) =>
  podsOf(documents).flatMap(({ name, spec }) => {
    const { mounted, named } = filesOf(spec, documents)
    return named.filter((file) => !mounted.includes(file)).map((file) => `${name} has no ${file}`)
  })

function filesOf({ containers: [container], volumes = [] }, documents) {
  // Volumes of the operator are not projected ones of ours.
  const mounted = (container.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const { projected } = volumes.find((volume) => volume.name === name)
    const items = (projected?.sources ?? []).flatMap(({ secret, configMap }) => (secret ?? configMap).items)
    return items.map(({ path }) => `${mountPath}/${path}`)
  })
  const maps = (container.envFrom ?? []).map(({ configMapRef }) => configMapRef.name)
  const settings = documents.filter(({ kind, metadata }) => kind === 'ConfigMap' && maps.includes(metadata.name))
  const text = JSON.stringify([container.env, container.command, settings.map(({ data }) => data)])
  // A referenced folder means all of its files.
  const named = (text.match(/\/run\/[\w./-]+/g) ?? []).flatMap((name) => {
    const inside = mounted.filter((file) => file.startsWith(`${name}/`))
    return inside.length > 0 ? inside : [name]
  })
  // The URL of a database is a file itself, and names the file of the authority beside it.
  const authorities = mounted.filter((file) => file.endsWith('/postgres-ca.pem'))
  return { mounted, named: named.some((file) => file.endsWith('database-url')) ? [...named, ...authorities] : named }
}

function podsOf(documents) {
  return documents
    .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    .map(({ kind, metadata, spec }) => ({
      kind,
      name: `${kind} ${metadata.name}`,
      component: metadata.labels['app.kubernetes.io/component'],
      labels: spec.template.metadata.labels,
      spec: spec.template.spec
    }))
}
