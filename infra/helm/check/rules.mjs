// What every rendering must keep to, whatever the values. Each rule returns its complaints.

/** A chart that renders a Secret writes it into the release's history, for all who may read that. */
export const noSecretIsRendered = (documents) =>
  documents.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => `Secret ${metadata.name} is rendered`)

export const podsAreConfined = (documents) => podsOf(documents).flatMap(({ name, spec }) => confinementOf(name, spec))

function confinementOf(name, spec) {
  const { securityContext: pod } = spec
  const complaints = []
  if (pod?.runAsNonRoot !== true || !(pod.runAsUser > 0)) complaints.push(`${name} may run as root`)
  if (pod?.seccompProfile?.type !== 'RuntimeDefault') complaints.push(`${name} has no seccomp profile`)
  if (spec.automountServiceAccountToken !== false) complaints.push(`${name} gets a token of the cluster`)
  for (const container of spec.containers) {
    const { securityContext: own, resources } = container
    const isConfined = own?.readOnlyRootFilesystem === true && own.allowPrivilegeEscalation === false
    if (!isConfined || !own.capabilities?.drop?.includes('ALL')) complaints.push(`${name} is not confined`)
    if (!resources?.requests?.memory || !resources.limits?.memory) complaints.push(`${name} has no memory bounds`)
    const exposed = (container.env ?? []).filter((one) =>
      /(PASSWORD|SECRET|KEYS|DATABASE_URL|REDIS_URL)$/.test(one.name)
    )
    if (exposed.length > 0) complaints.push(`${name} has a secret in its environment`)
  }
  return complaints
}

/** A service answers for one listener only: a policy or an Ingress for one must not open another. */
export const servicesHaveOnePort = (documents) =>
  documents
    .filter(({ kind, spec }) => kind === 'Service' && spec.ports.length !== 1)
    .map(({ metadata }) => `Service ${metadata.name} has more than one port`)

/** Introspection for resource servers and the peers named for it; operator listeners for named peers; no open rule. */
export function policiesKeepListenersApart(documents) {
  const complaints = []
  for (const { metadata, spec } of documents.filter(({ kind }) => kind === 'NetworkPolicy')) {
    for (const rule of spec.ingress) {
      const ports = (rule.ports ?? []).map(({ port }) => port)
      const open = (rule.from ?? []).length === 0
      if (ports.length !== 1) complaints.push(`${metadata.name}: a rule must name one port`)
      if (open && ports[0] !== 'public') complaints.push(`${metadata.name}: ${ports[0]} is open to everybody`)
    }
  }
  for (const { name, component } of podsOf(documents).filter(({ kind }) => kind === 'Deployment')) {
    const selects = ({ kind, spec }) =>
      kind === 'NetworkPolicy' && spec.podSelector.matchLabels['app.kubernetes.io/component'] === component
    if (!documents.some(selects)) complaints.push(`${name} has no network policy`)
  }
  return complaints
}

/** A selector that misses its pods renders well and serves nobody. */
export function selectorsFindPods(documents) {
  const pods = podsOf(documents).filter(({ kind }) => kind === 'Deployment')
  const selecting = documents.filter(({ kind }) => ['Service', 'NetworkPolicy'].includes(kind))
  return selecting.flatMap(({ kind, metadata, spec }) => {
    const selector = kind === 'Service' ? spec.selector : spec.podSelector.matchLabels
    const found = pods.filter(({ labels }) => Object.entries(selector).every(([key, value]) => labels[key] === value))
    return found.length === 1 ? [] : [`${kind} ${metadata.name} selects ${found.length} deployments`]
  })
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
