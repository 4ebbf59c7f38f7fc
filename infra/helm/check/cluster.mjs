// A Kubernetes API that has every Secret and ConfigMap except the chart's own, and nothing else, for values that read the cluster
// (`lookup`). It runs in its own thread, because helm is run synchronously.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

/** @returns arguments that make helm use this cluster; `change` changes one Secret or ConfigMap */
export async function startCluster() {
  const worker = new Worker(new URL(import.meta.url))
  const [port] = await once(worker, 'message')
  return {
    args: ['--dry-run=server', '--disable-openapi-validation', '--kube-apiserver', `http://127.0.0.1:${port}`],
    async change(name) {
      worker.postMessage(name)
      await once(worker, 'message')
    },
    stop: () => worker.terminate()
  }
}

/** The kinds that helm may look up, by group and version. */
const KINDS = {
  v1: ['Secret', 'ConfigMap', 'Service'],
  'apps/v1': ['Deployment'],
  'batch/v1': ['Job'],
  'networking.k8s.io/v1': ['NetworkPolicy'],
  'policy/v1': ['PodDisruptionBudget']
}
const plural = (kind) => `${kind.toLowerCase().replace(/y$/, 'ie')}s`

function answerTo(pathname, versions) {
  const [, kind, name] = /^\/api\/v1\/namespaces\/valetkey\/(secrets|configmaps)\/(.+)$/.exec(pathname) ?? []
  // Helm refuses to install what exists.
  if (kind === 'secrets' || (name && !name.startsWith('valetkey-'))) {
    const metadata = { name, namespace: 'valetkey', uid: name, resourceVersion: String(versions.get(name) ?? 1) }
    return { apiVersion: 'v1', kind: kind === 'secrets' ? 'Secret' : 'ConfigMap', metadata }
  }
  if (pathname.includes('/namespaces/')) return { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 }
  if (pathname === '/version') return { major: '1', minor: '35', gitVersion: 'v1.35.0' }
  if (pathname === '/api') return { kind: 'APIVersions', versions: ['v1'] }
  if (pathname === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups() }
  return resourcesOf(pathname.replace(/^\/apis?\//, ''))
}

function groups() {
  const named = Object.keys(KINDS).filter((groupVersion) => groupVersion.includes('/'))
  return named.map((groupVersion) => {
    const [name, version] = groupVersion.split('/')
    return { name, versions: [{ groupVersion, version }], preferredVersion: { groupVersion, version } }
  })
}

function resourcesOf(groupVersion) {
  const resources = (KINDS[groupVersion] ?? []).map((kind) => {
    return { name: plural(kind), singularName: kind.toLowerCase(), namespaced: true, kind, verbs: ['get'] }
  })
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources }
}

if (!isMainThread) {
  const versions = new Map()
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://cluster')
    const answer = answerTo(pathname, versions)
    response.writeHead(answer.code ?? 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  })
  parentPort.on('message', (name) => {
    versions.set(name, (versions.get(name) ?? 1) + 1)
    parentPort.postMessage('done')
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
}
