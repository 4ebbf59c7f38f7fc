// Whether network policies allow a connection, as the Kubernetes API defines it. Pure functions of documents.
import { BlockList } from 'node:net'

/**
 * One end of a connection: a pod, or an address outside the cluster. Ports are the named ones of a pod.
 * @typedef {{ namespace?: string, labels?: Record<string, string>, ports?: Record<string, number>, address: string }} End
 */

/**
 * A connection passes if the policies at both ends let it.
 * @param {{ kind: string }[]} policies documents of kind NetworkPolicy, each with its namespace
 * @param {End} from
 * @param {End} to
 * @param {{ port: number, protocol?: string }} what
 */
export function isAllowed(policies, from, to, { port, protocol = 'TCP' }) {
  const out = passes(policies, from, 'Egress', (rule) => fits(rule, rule.to, { peer: to, to, port, protocol }))
  const into = passes(policies, to, 'Ingress', (rule) => fits(rule, rule.from, { peer: from, to, port, protocol }))
  return out && into

  function fits(rule, peers, { peer, ...what }) {
    return includesPort(rule.ports, what) && includesPeer(peers, peer, rule.namespace)
  }
}

/** Without a policy of its direction, a pod allows everything; with policies, it allows only what any rule allows. */
function passes(policies, end, direction, fits) {
  const own = policies.filter(({ metadata, spec }) => {
    const covers = (spec.policyTypes ?? ['Ingress']).includes(direction)
    return covers && metadata.namespace === end.namespace && selects(spec.podSelector, end.labels)
  })
  if (own.length === 0) return true
  return own.some(({ metadata, spec }) => {
    const rules = direction === 'Egress' ? spec.egress : spec.ingress
    return (rules ?? []).some((rule) => fits({ ...rule, namespace: metadata.namespace }))
  })
}

function includesPort(ports = [], { to, port, protocol }) {
  if (ports.length === 0) return true
  return ports.some((one) => {
    if ((one.protocol ?? 'TCP') !== protocol) return false
    if (one.port === undefined) return true
    const first = typeof one.port === 'string' ? to.ports?.[one.port] : one.port
    return first !== undefined && port >= first && port <= (one.endPort ?? first)
  })
}

function includesPeer(peers = [], end, namespace) {
  if (peers.length === 0) return true
  return peers.some(({ podSelector, namespaceSelector, ipBlock }) => {
    if (ipBlock) return contains(ipBlock.cidr, end) && !(ipBlock.except ?? []).some((cidr) => contains(cidr, end))
    if (end.namespace === undefined) return false
    const inNamespace = namespaceSelector
      ? selects(namespaceSelector, { 'kubernetes.io/metadata.name': end.namespace })
      : end.namespace === namespace
    return inNamespace && selects(podSelector ?? {}, end.labels)
  })
}

function contains(cidr, { address }) {
  const [network, prefix] = cidr.split('/')
  const list = new BlockList()
  list.addSubnet(network, Number(prefix), network.includes(':') ? 'ipv6' : 'ipv4')
  return list.check(address, address.includes(':') ? 'ipv6' : 'ipv4')
}

/** An empty selector selects everything. */
export function selects({ matchLabels = {}, matchExpressions = [] }, labels = {}) {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator === 'In') return values.includes(labels[key])
      if (operator === 'NotIn') return !values.includes(labels[key])
      return operator === 'Exists' ? key in labels : !(key in labels)
    })
  )
}
