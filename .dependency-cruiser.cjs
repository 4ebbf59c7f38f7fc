// Who may import whom. CONTRIBUTING.md says why; `npm run check` fails when one of these is broken.
const AUTHORIZATION = '^services/authorization-server/src'
const STEPS = '(authorize|login|consent|account|token|revocation|introspection|feed|metadata|errors|admin)'
const LEAVES =
  '(administration|audit|background|clients|codes|doctor|http|language|limits|metrics|passwords|registry|requests|resource-servers|scopes|sealing|session|storage|usage)'

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-circle',
      severity: 'error',
      from: {},
      to: { circular: true, pathNot: '/dist/' }
    },
    {
      name: 'service-to-service',
      comment: 'The two services meet over HTTP only.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' }
    },
    {
      name: 'step-to-step',
      comment: 'A step hands over by a redirect or through a leaf, never by an import.',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/${STEPS}/` },
      to: { path: `${AUTHORIZATION}/${STEPS}/`, pathNot: `${AUTHORIZATION}/$1/` }
    },
    {
      name: 'leaf-to-step',
      comment: 'A leaf serves any step and knows none.',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/${LEAVES}/` },
      to: { path: `${AUTHORIZATION}/${STEPS}/` }
    },
    {
      name: 'storage-knows-only-rules',
      severity: 'error',
      from: { path: '^services/[^/]+/src/storage/' },
      to: { path: '^services/', pathNot: '^services/[^/]+/src/storage/' }
    },
    {
      name: 'drivers-only-in-storage',
      comment: 'pg and ioredis are the business of storage/ alone.',
      severity: 'error',
      from: { path: '^services/[^/]+/src/', pathNot: '^services/[^/]+/src/storage/' },
      to: { path: '(^|/)(pg|ioredis)(/|$)', pathNot: '^services/' }
    },
    {
      name: 'rules-do-no-io',
      comment: 'oauth-protocol is pure: node:crypto and nothing else.',
      severity: 'error',
      from: { path: '^packages/oauth-protocol/src/' },
      to: { pathNot: '^(packages/oauth-protocol/src/|(node:)?crypto$)' }
    },
    {
      name: 'guard-stands-alone',
      comment: 'fastify-bearer is published: what it imports, its users install.',
      severity: 'error',
      from: { path: '^packages/fastify-bearer/src/' },
      to: {
        dependencyTypesNot: ['core'],
        pathNot: [
          '^packages/fastify-bearer/',
          '^packages/oauth-protocol/',
          'node_modules/.pnpm/(fastify|fastify-plugin|undici)@'
        ]
      }
    },
    {
      name: 'kit-knows-no-subject',
      severity: 'error',
      from: { path: '^packages/service-kit/src/' },
      to: { path: '^(packages|services)/', pathNot: '^packages/service-kit/' }
    },
    {
      name: 'dev-stack-stays-out',
      comment: 'What npm start and npm test bring along is never part of a deployment.',
      severity: 'error',
      from: { path: '^(services|packages)/[^/]+/src/', pathNot: '^packages/dev-stack/' },
      to: { path: '^packages/dev-stack/' }
    },
    {
      name: 'client-is-a-stranger',
      comment: 'The examples know us by our public addresses, and the guard as everybody can install it.',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^(packages|services)/', pathNot: '^packages/fastify-bearer/dist/index[.]' }
    },
    {
      name: 'nothing-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true }
    }
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: '(^|/)(node_modules|dist)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'default']
    }
  }
}
