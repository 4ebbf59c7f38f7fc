// Allowed imports. docs/architecture.md says why; `npm run check` fails if a rule is violated.
const AUTHORIZATION = '^services/authorization-server/src'
// One group for each kind of caller: browsers, apps and resource servers, feed subscribers, operators.
const GROUPS = '(browser|protocol|feed|operator)'
const BROWSER_STEPS = '(account|authorize|consent|login)'
const PROTOCOL_STEPS = '(errors|introspection|metadata|revocation|token)'
const OPERATOR_STEPS = '(cli|http|start-page)'

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
      comment: 'The two services communicate over HTTP only.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' }
    },
    {
      name: 'group-to-group',
      comment: 'Groups share platform/, http/ and storage/, and never import each other.',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/${GROUPS}/` },
      to: { path: `${AUTHORIZATION}/${GROUPS}/`, pathNot: `${AUTHORIZATION}/$1/` }
    },
    {
      name: 'browser-step-to-step',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/browser/${BROWSER_STEPS}/` },
      to: { path: `${AUTHORIZATION}/browser/${BROWSER_STEPS}/`, pathNot: `${AUTHORIZATION}/browser/$1/` }
    },
    {
      name: 'protocol-step-to-step',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/protocol/${PROTOCOL_STEPS}/` },
      to: { path: `${AUTHORIZATION}/protocol/${PROTOCOL_STEPS}/`, pathNot: `${AUTHORIZATION}/protocol/$1/` }
    },
    {
      name: 'operator-http-to-cli',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/operator/${OPERATOR_STEPS}/` },
      to: { path: `${AUTHORIZATION}/operator/${OPERATOR_STEPS}/`, pathNot: `${AUTHORIZATION}/operator/$1/` }
    },
    {
      name: 'http-below-groups',
      comment: 'http/ writes responses and imports no use case.',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/http/` },
      to: { path: `${AUTHORIZATION}/(${GROUPS}|wire)/` }
    },
    {
      name: 'platform-below-http',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/platform/` },
      to: { path: `${AUTHORIZATION}/(${GROUPS}|wire|http)/` }
    },
    {
      name: 'storage-imports-only-rules',
      severity: 'error',
      from: { path: '^services/[^/]+/src/storage/' },
      to: { path: '^services/', pathNot: '^services/[^/]+/src/storage/' }
    },
    {
      name: 'drivers-only-in-storage',
      comment: 'Only storage/ may import pg and ioredis.',
      severity: 'error',
      from: { path: '^services/[^/]+/src/', pathNot: '^services/[^/]+/src/storage/' },
      to: { path: '(^|/)(pg|ioredis)(/|$)', pathNot: '^services/' }
    },
    {
      name: 'rules-do-no-io',
      comment: 'oauth-protocol and sign-in-rules are pure: they import only node:crypto.',
      severity: 'error',
      from: { path: '^packages/(oauth-protocol|sign-in-rules)/src/' },
      to: { pathNot: '^(packages/$1/src/|(node:)?crypto$)' }
    },
    {
      name: 'guard-imports-few-packages',
      comment: 'The guard is published: its users must install its imports.',
      severity: 'error',
      from: { path: '^packages/guard/src/' },
      to: {
        dependencyTypesNot: ['core'],
        pathNot: [
          '^packages/guard/',
          '^packages/oauth-protocol/',
          'node_modules/.pnpm/(fastify|fastify-plugin|undici)@'
        ]
      }
    },
    {
      name: 'guard-core-has-no-framework',
      comment: 'Users of one adapter do not install the framework of another.',
      severity: 'error',
      from: { path: '^packages/guard/src/', pathNot: '^packages/guard/src/fastify/' },
      to: { path: ['node_modules/.pnpm/(fastify|fastify-plugin)@', '^packages/guard/src/fastify/'] }
    },
    {
      name: 'conformance-imports-only-node',
      comment: 'It tests any server from outside, so it imports nothing of this repository, and needs only Node.',
      severity: 'error',
      from: { path: '^packages/conformance/src/' },
      to: { dependencyTypesNot: ['core'], pathNot: '^packages/conformance/src/' }
    },
    {
      name: 'service-kit-imports-no-other-package',
      severity: 'error',
      from: { path: '^packages/service-kit/src/' },
      to: { path: '^(packages|services)/', pathNot: '^packages/service-kit/' }
    },
    {
      name: 'dev-stack-stays-out',
      comment: 'The tools of npm start and npm test are never part of a deployment.',
      severity: 'error',
      from: { path: '^(services|packages)/[^/]+/src/', pathNot: '^packages/dev-stack/' },
      to: { path: '^packages/dev-stack/' }
    },
    {
      name: 'examples-use-published-api',
      comment: 'The examples use only the public addresses and the published guard.',
      severity: 'error',
      from: { path: '^examples/' },
      to: { path: '^(packages|services)/', pathNot: '^packages/guard/dist/(index|node|web|mcp|fastify/index)[.]' }
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
