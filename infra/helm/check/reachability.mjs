// Checks which connections the rendered network policies allow. Each port has the complete list of allowed callers; all others
// must be refused.
import { isAllowed } from './network-policies.mjs'

const RELEASE = 'valetkey'
const inNamespace = (namespace, labels, address) => ({ namespace, labels, address })

/** The pods around a release. For each there is another pod that differs in one property only. */
const others = {
  browser: { address: '203.0.113.7' },
  'ingress controller': inNamespace('ingress-nginx', { 'app.kubernetes.io/component': 'controller' }, '10.42.0.1'),
  'pod beside the ingress controller': inNamespace('ingress-nginx', { app: 'debug' }, '10.42.0.2'),
  'reports API': inNamespace('reports', { app: 'reports-api' }, '10.42.0.3'),
  'pod beside the reports API': inNamespace('reports', { app: 'web' }, '10.42.0.4'),
  'reports API of another namespace': inNamespace('copies', { app: 'reports-api' }, '10.42.0.5'),
  monitoring: inNamespace('monitoring', { app: 'prometheus' }, '10.42.0.6'),
  'pod beside the release': inNamespace(RELEASE, { app: 'debug' }, '10.42.0.7'),
  'resource server of another release': inNamespace(
    RELEASE,
    {
      'app.kubernetes.io/name': 'valetkey',
      'app.kubernetes.io/instance': 'another',
      'app.kubernetes.io/component': 'resource-server'
    },
    '10.42.0.8'
  )
}
const services = {
  databases: inNamespace('databases', { app: 'postgres' }, '10.42.1.1'),
  dns: inNamespace('kube-system', { 'k8s-app': 'kube-dns' }, '10.42.1.2'),
  internet: { address: '198.51.100.1' }
}

const everyone = Object.keys(others)
const servers = ['authorization-server', 'resource-server']
const migrations = ['authorization-server-migration', 'resource-server-migration']
const jobs = [...migrations, 'credential']
const tester = ['test']
const none = []
/** The ports of the listeners, and a port of a debugger. */
const listeners = (named) => ({ 'authorization-server 9229': none, 'resource-server 9229': none, ...named })
const connections = (named) => ({
  'databases 22': none,
  'internet 443': none,
  'dns 53 UDP': [...servers, ...jobs, ...tester],
  'dns 53': [...servers, ...jobs, ...tester],
  'databases 5432': [...servers, ...jobs],
  'databases 6379': ['authorization-server'],
  ...named
})

/** The callers by rendering or wish; a row is a port and who passes. */
export const expected = {
  default: {
    ...listeners({
      'authorization-server 4000': [...everyone, ...tester],
      'authorization-server 4001': ['resource-server'],
      'authorization-server 4002': none,
      'resource-server 4100': [...everyone, ...tester],
      'resource-server 4101': none
    }),
    // The values do not say where the databases are.
    ...connections({ 'internet 5432': [...servers, ...jobs], 'internet 6379': ['authorization-server'] })
  },
  production: {
    ...listeners({
      'authorization-server 4000': ['ingress controller', ...tester],
      'authorization-server 4001': ['reports API', 'resource-server'],
      'authorization-server 4002': ['monitoring'],
      'resource-server 4100': ['ingress controller', ...tester],
      'resource-server 4101': ['monitoring']
    }),
    ...connections({ 'databases 26379': ['authorization-server'], 'internet 5432': none, 'internet 6379': none })
  },
  switched: {
    // The resource servers introspect at an authorization server outside the release.
    ...listeners({ 'authorization-server 4001': none, 'authorization-server 4002': ['monitoring'] }),
    // No job registers a credential there.
    'dns 53': [...servers, ...migrations, ...tester],
    'databases 22': none,
    'databases 5432': [...servers, ...migrations],
    'databases 6379': ['authorization-server'],
    // Without SIGN_IN_PROVIDERS.
    'internet 443': none,
    // CLIENT_ID_METADATA is in the Secret, so its value is unknown. Documents are at public addresses only.
    'internet 8444': ['authorization-server'],
    'databases 8444': none,
    'databases 2525': ['authorization-server'],
    'internet 2525': none,
    'internet 4318': servers,
    'internet 8443': ['resource-server']
  },
  alone: {
    'authorization-server 4000': ['ingress controller', 'pod beside the ingress controller', ...tester],
    'authorization-server 4001': none,
    'authorization-server 4002': ['monitoring'],
    'databases 5432': ['authorization-server', 'authorization-server-migration'],
    'databases 6379': ['authorization-server'],
    // CLIENT_ID_METADATA is in extraEnv.
    'internet 443': ['authorization-server'],
    'databases 443': none
  },
  'only the authorization server': {
    'authorization-server 4000': [...everyone, ...tester],
    'authorization-server 4001': none,
    'databases 5432': ['authorization-server', 'authorization-server-migration']
  },
  'only the resource server': {
    'resource-server 4100': [...everyone, ...tester],
    'internet 443': ['resource-server'],
    'databases 5432': ['resource-server', 'resource-server-migration']
  },
  'sign-in providers and mail': {
    'internet 443': ['authorization-server'],
    // A provider may have a private address.
    'databases 443': ['authorization-server'],
    'internet 465': ['authorization-server'],
    'internet 587': ['authorization-server'],
    'internet 25': none
  },
  'valetkey apply': { 'databases 5432': [...servers, ...jobs, 'registry'], 'internet 443': none }
}

/** @returns {string[]} connections that the policies wrongly allow or wrongly refuse */
export function wrongReach(documents, rows) {
  const policies = documents
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map((document) => ({ ...document, metadata: { ...document.metadata, namespace: RELEASE } }))
  const own = podsOf(documents)
  return Object.entries(rows).flatMap(([row, allowed]) => {
    const [name, port, protocol = 'TCP'] = row.split(' ')
    const to = own[name] ?? services[name]
    if (to === undefined) return [`${name} is not rendered`]
    // The release does not decide which callers reach other pods.
    const callers = name in own ? { ...others, ...own } : own
    const reached = Object.keys(callers).filter(
      (caller) => caller !== name && isAllowed(policies, callers[caller], to, { port: Number(port), protocol })
    )
    const surplus = reached.filter((caller) => !allowed.includes(caller)).map((caller) => `${caller} reaches ${row}`)
    const missing = allowed.filter((caller) => !reached.includes(caller))
    return [...surplus, ...missing.map((caller) => `${caller} does not reach ${row}`)]
  })
}

function podsOf(documents) {
  const templates = documents.filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
  const pods = templates.map(({ spec: { template } }, index) => {
    const { labels } = template.metadata
    const ports = template.spec.containers.flatMap((container) => container.ports ?? [])
    const named = Object.fromEntries(ports.map(({ name, containerPort }) => [name, containerPort]))
    return [
      labels['app.kubernetes.io/component'],
      { ...inNamespace(RELEASE, labels, `10.42.2.${index}`), ports: named }
    ]
  })
  return Object.fromEntries(pods)
}

/** Faults of the policies, each of which `wrongReach` must notice in the production rendering. */
export const mistakes = {
  'a missing policy': (documents) => documents.filter(({ metadata }) => !/-resource-server$/.test(metadata.name)),
  'introspection for everyone': changed(({ ingress: [, internal] }) => {
    internal.from = []
  }),
  'a port without a rule': changed(({ ingress }) => {
    ingress.shift()
  }),
  'an operator rule for all namespaces': changed(({ ingress }) => {
    ingress.at(-1).from = [{ namespaceSelector: {} }]
  }),
  'a peer cut into two': changed(({ ingress: [, { from }] }) => {
    const { podSelector, namespaceSelector } = from.pop()
    from.push({ podSelector }, { namespaceSelector })
  }),
  'no rule for what goes out': changed((spec) => {
    spec.policyTypes = ['Ingress']
  })
}

/** Changes the policy of the authorization server. */
function changed(change) {
  return (documents) => {
    const copies = structuredClone(documents)
    const isMeant = ({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-authorization-server')
    change(copies.find(isMeant).spec)
    return copies
  }
}
