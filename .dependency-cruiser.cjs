// Allowed imports. docs/architecture.md draws the layers; `npm run check` fails if a rule is violated.
const { existsSync, readdirSync } = require('node:fs')
const path = require('node:path')
const featureImports = require('./services/authorization-server/feature-imports.json')

const AUTHORIZATION = '^services/authorization-server/src'
// Optional capabilities above the core, one folder each.
const FEATURES = `${AUTHORIZATION}/features`
const FEATURE_STORE = `${FEATURES}/.+-(store|sql)[.]ts$`
// The registration and the wiring of a feature are in its folder, beside its commands and its checks of `doctor`.
const FEATURE_WIRING = `${FEATURES}/.+/(wire-[^/]+|[^/]+-feature)[.]ts$`
const FEATURE_COMMANDS_AND_CHECKS = [`${FEATURES}/.+-commands?[.]ts$`, `${FEATURES}/.+/(evaluate|examine)-[^/]+[.]ts$`]
const SIGNED = '^packages/oauth-protocol/src/signed/'
const SERVICE = '^services/[^/]+/src'
// One group for each kind of caller: browsers, apps and resource servers, feed subscribers, operators, readers of files,
// users who choose files.
const GROUPS = '(browser|protocol|feed|operator|files|choose)'
// A folder with endpoints is a step of its group. Other folders of the group are shared by its steps.
const BROWSER_STEPS = anyOf(foldersOf('browser').filter((name) => existsSync(pathOf('browser', name, 'routes.ts'))))
const PROTOCOL_STEPS = anyOf(foldersOf('protocol'))
// The ways to reach the use cases, in both services: cli, doctor, http, start-page.
const OPERATOR_STEPS = anyOf(foldersOf('operator').filter((name) => name !== 'use-cases'))

function pathOf(...names) {
  return path.join(__dirname, 'services/authorization-server/src', ...names)
}

function foldersOf(group) {
  const entries = readdirSync(pathOf(group), { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

function anyOf(names) {
  return `(${names.join('|')})`
}

function exactly(file) {
  return `${AUTHORIZATION}/${file.replaceAll('.', '[.]')}$`
}

const features = existsSync(pathOf('features')) ? foldersOf('features') : []
const importsBetweenFeatures = features.map((feature) => ({
  name: 'feature-to-feature',
  comment: 'A feature imports another only where feature-imports.json says so.',
  severity: 'error',
  from: { path: `${FEATURES}/${feature}/` },
  to: { path: `${FEATURES}/`, pathNot: `${FEATURES}/${anyOf([feature, ...(featureImports.features[feature] ?? [])])}/` }
}))
// Imports of features from the core that still exist. The list only gets shorter: an entry without its import is an error, too.
const importsFromCore = Object.entries(featureImports.core).map(([file, imported]) => ({
  name: 'core-imports-no-feature',
  severity: 'error',
  from: { path: exactly(file) },
  to: { path: `${FEATURES}/`, pathNot: imported.map(exactly) }
}))
const stillImported = Object.entries(featureImports.core).flatMap(([file, imported]) =>
  imported.map((one) => ({
    name: 'no-import-left',
    comment: 'Remove the entry from feature-imports.json.',
    severity: 'error',
    module: { path: exactly(file) },
    to: { path: exactly(one) }
  }))
)

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
      name: 'main-above-all',
      comment:
        'main.ts, start.ts, app.ts, the settings and wire/ pass dependencies down; nothing takes them from there.',
      severity: 'error',
      from: {
        path: `${SERVICE}/[^/]+/`,
        pathNot: [`${SERVICE}/wire/`, FEATURE_WIRING, `${AUTHORIZATION}/operator/cli/main[.]ts$`]
      },
      to: { path: `${SERVICE}/(wire/|[^/]+[.]ts$)`, pathNot: `${SERVICE}/(config|feature)[.]ts$` }
    },
    {
      name: 'features-only-for-main',
      comment: 'The two main programs pass the list of features down.',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/`, pathNot: `${AUTHORIZATION}/(operator/cli/)?main[.]ts$` },
      to: { path: `${AUTHORIZATION}/features[.]ts$` }
    },
    {
      name: 'feature-type-for-wiring',
      comment: 'Only wiring, commands and `doctor` know what a feature adds.',
      severity: 'error',
      from: {
        path: `${AUTHORIZATION}/[^/]+/`,
        pathNot: [`${AUTHORIZATION}/(wire|operator/cli|operator/doctor)/`, FEATURE_WIRING]
      },
      to: { path: `${AUTHORIZATION}/feature[.]ts$` }
    },
    {
      name: 'settings-only-for-commands',
      comment:
        'The one exception: commands are processes of their own, and doctor examines the settings of the service.',
      severity: 'error',
      from: {
        path: `${SERVICE}/[^/]+/`,
        pathNot: [`${SERVICE}/(wire|operator/cli|operator/doctor)/`, FEATURE_WIRING, ...FEATURE_COMMANDS_AND_CHECKS]
      },
      to: { path: `${SERVICE}/config[.]ts$` }
    },
    {
      name: 'feature-wiring-below-app',
      comment: 'The wiring of a feature imports stores and platform of wire/, the settings, and the type of a feature.',
      severity: 'error',
      from: { path: FEATURE_WIRING },
      to: { path: `${SERVICE}/[^/]+[.]ts$`, pathNot: `${SERVICE}/(config|feature)[.]ts$` }
    },
    {
      name: 'core-imports-no-feature',
      comment: 'A feature can be deleted. Imports that still exist are in feature-imports.json.',
      severity: 'error',
      from: {
        path: `${AUTHORIZATION}/`,
        pathNot: [`${FEATURES}/`, `${AUTHORIZATION}/features[.]ts$`, ...Object.keys(featureImports.core).map(exactly)]
      },
      to: { path: `${FEATURES}/` }
    },
    ...importsFromCore,
    ...importsBetweenFeatures,
    {
      name: 'feature-stores-import-only-stores',
      comment: 'SQL and Redis commands of a feature, and parts of SQL in -sql.ts, have the rules of storage/.',
      severity: 'error',
      from: { path: FEATURE_STORE },
      to: { path: '^services/', pathNot: [`${AUTHORIZATION}/storage/`, FEATURE_STORE] }
    },
    {
      name: 'group-to-group',
      comment:
        'Groups share platform/, http/ and storage/, and never import each other. An import of files needs their kinds.',
      severity: 'error',
      from: { path: `^services/([^/]+)/src/${GROUPS}/` },
      to: { path: `${SERVICE}/${GROUPS}/`, pathNot: '^services/$1/src/($2/|files/file-kind[.]ts$)' }
    },
    {
      name: 'browser-step-to-step',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/browser/${BROWSER_STEPS}/` },
      to: { path: `${AUTHORIZATION}/browser/${BROWSER_STEPS}/`, pathNot: `${AUTHORIZATION}/browser/$1/` }
    },
    {
      name: 'browser-shared-below-steps',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/browser/`, pathNot: `${AUTHORIZATION}/browser/${BROWSER_STEPS}/` },
      to: { path: `${AUTHORIZATION}/browser/${BROWSER_STEPS}/` }
    },
    {
      name: 'protocol-step-to-step',
      severity: 'error',
      from: { path: `${AUTHORIZATION}/protocol/${PROTOCOL_STEPS}/` },
      to: { path: `${AUTHORIZATION}/protocol/${PROTOCOL_STEPS}/`, pathNot: `${AUTHORIZATION}/protocol/$1/` }
    },
    {
      name: 'operator-step-to-step',
      comment: 'cli/ may import doctor/: `doctor` is a command.',
      severity: 'error',
      from: { path: `^services/([^/]+)/src/operator/${OPERATOR_STEPS}/` },
      to: {
        path: `${SERVICE}/operator/${OPERATOR_STEPS}/`,
        pathNot: ['^services/$1/src/operator/$2/', `${SERVICE}/operator/doctor/`]
      }
    },
    {
      name: 'doctor-only-for-commands',
      comment: 'The start page gets the findings from wire/.',
      severity: 'error',
      from: { path: `${SERVICE}/operator/`, pathNot: `${SERVICE}/operator/(cli|doctor)/` },
      to: { path: `${SERVICE}/operator/doctor/` }
    },
    {
      name: 'use-cases-below-steps',
      comment: 'A use case knows neither commands nor HTTP.',
      severity: 'error',
      from: { path: `${SERVICE}/operator/use-cases/` },
      to: { path: `${SERVICE}/operator/${OPERATOR_STEPS}/` }
    },
    {
      name: 'http-below-groups',
      comment: 'http/ writes responses and imports no use case.',
      severity: 'error',
      from: { path: `${SERVICE}/http/` },
      to: { path: `${SERVICE}/${GROUPS}/` }
    },
    {
      name: 'platform-below-http',
      severity: 'error',
      from: { path: `${SERVICE}/platform/` },
      to: { path: `${SERVICE}/(${GROUPS}|http)/` }
    },
    {
      name: 'storage-imports-only-rules',
      severity: 'error',
      from: { path: '^services/[^/]+/src/storage/' },
      to: { path: '^services/', pathNot: ['^services/[^/]+/src/storage/', `${FEATURES}/`] }
    },
    {
      name: 'drivers-only-in-storage',
      comment: 'Only storage/ and the stores of features may import pg and ioredis.',
      severity: 'error',
      from: { path: '^services/[^/]+/src/', pathNot: ['^services/[^/]+/src/storage/', FEATURE_STORE] },
      to: { path: '(^|/)(pg|ioredis)(/|$)', pathNot: '^services/' }
    },
    {
      name: 'rules-do-no-io',
      comment: 'oauth-protocol and sign-in-rules are pure: they import only node:crypto.',
      severity: 'error',
      from: { path: '^packages/(oauth-protocol|sign-in-rules)/src/', pathNot: SIGNED },
      to: { pathNot: ['^(packages/$1/src/|(node:)?crypto$)'] }
    },
    {
      name: 'signed-rules-apart',
      comment:
        'Rules that verify signatures import jose. They have an entry of their own, so that others do not load it; rules for keys load nothing.',
      severity: 'error',
      from: { path: '^packages/oauth-protocol/src/', pathNot: SIGNED },
      to: { path: 'node_modules/.pnpm/jose@', reachable: true }
    },
    {
      name: 'signed-rules-do-no-io',
      severity: 'error',
      from: { path: SIGNED },
      to: { pathNot: ['^(packages/oauth-protocol/src/|(node:)?crypto$)', 'node_modules/.pnpm/jose@'] }
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
      name: 'guard-loads-signatures-lazily',
      comment:
        'Guards of bearer tokens do not load jose: only check-proof.ts imports it, and is imported when it is needed.',
      severity: 'error',
      from: { path: '^packages/guard/src/', pathNot: '^packages/guard/src/dpop/check-proof[.]ts$' },
      to: { path: '^packages/oauth-protocol/(src|dist)/signed/' }
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
      name: 'bench-and-e2e-apart',
      comment: 'What both need is in packages/dev-stack/lib.',
      severity: 'error',
      from: { path: '^(bench|e2e)/' },
      to: { path: '^(bench|e2e)/', pathNot: '^$1/' }
    },
    {
      name: 'packages-below-programs',
      comment: 'A package is tested without the programs that use it.',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(infra|e2e|bench)/' }
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
  required: stillImported,
  options: {
    parser: 'swc',
    doNotFollow: { path: '(^|/)(node_modules|dist)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'default']
    }
  }
}
