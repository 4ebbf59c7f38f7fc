// The files that each pod mounts, and their sources. Every pod of a rendering is listed with all of its files; missing and
// additional files are reported.

/** Files that are called like their keys. */
const keys = (source, ...names) => Object.fromEntries(names.map((name) => [name, `${source} ${name}`]))

const AUTHORIZATION = 'secret valetkey-authorization-server'
const RESOURCE = 'secret valetkey-resource-server'
const introspection = ['introspection-client-id', 'introspection-client-secret']
const ofDefault = {
  'authorization-server': keys(AUTHORIZATION, 'database-url', 'redis-url', 'cookie-keys'),
  'authorization-server-migration': keys(AUTHORIZATION, 'database-url'),
  'resource-server': {
    'resource-database-url': `${RESOURCE} database-url`,
    ...keys(RESOURCE, 'page-token-keys', ...introspection)
  },
  'resource-server-migration': { 'resource-database-url': `${RESOURCE} database-url` }
}
const authorizationDatabase = {
  'database-url': 'secret authorization-database url',
  'postgres-ca.pem': 'secret authorization-database-ca ca.crt'
}
const filesDatabase = {
  'resource-database-url': 'secret files-database url',
  'postgres-ca.pem': 'secret files-database-ca ca.crt'
}
const authorityOfSwitched = { 'postgres-ca.pem': 'configMap authorities postgres.pem' }

/** The files and their keys, by rendering and pod. */
export const expectedFiles = {
  default: {
    ...ofDefault,
    credential: { ...keys(AUTHORIZATION, 'database-url'), ...keys(RESOURCE, ...introspection) }
  },
  production: {
    'authorization-server': {
      ...authorizationDatabase,
      ...keys(`${AUTHORIZATION}-2026-11`, 'redis-url', 'cookie-keys'),
      'logo.svg': 'configMap example-branding logo.svg'
    },
    'authorization-server-migration': {
      ...authorizationDatabase,
      'database-url': 'secret authorization-database owner-url'
    },
    credential: { ...authorizationDatabase, ...keys(`${RESOURCE}-2026-11`, ...introspection) },
    'resource-server': { ...filesDatabase, ...keys(`${RESOURCE}-2026-11`, 'page-token-keys', ...introspection) },
    'resource-server-migration': { ...filesDatabase, 'resource-database-url': 'secret files-database owner-url' }
  },
  switched: {
    ...ofDefault,
    'authorization-server': {
      ...ofDefault['authorization-server'],
      ...authorityOfSwitched,
      'logo.png': 'secret branding our-mark.png',
      'pages/partials/tick.hbs': 'configMap own-pages tick.hbs',
      'some-setting': 'secret another some-setting',
      'database-direct-url': 'secret another direct-url',
      ...keys(AUTHORIZATION, 'client-id-metadata', 'smtp-url')
    },
    // Migrations do not run through the pooler.
    'authorization-server-migration': { 'database-url': 'secret another direct-url', ...authorityOfSwitched },
    'resource-server': { ...ofDefault['resource-server'], 'resource-database-direct-url': `${RESOURCE} direct-url` },
    'resource-server-migration': { 'resource-database-url': `${RESOURCE} owner-url` }
  },
  alone: {
    'authorization-server': keys(AUTHORIZATION, 'database-url', 'redis-url', 'cookie-keys'),
    'authorization-server-migration': keys(AUTHORIZATION, 'database-url')
  }
}

/** @returns {string[]} files that are missing, have another source, or are additional */
export function wrongFiles(documents, expected) {
  const found = Object.fromEntries(
    documents
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
      .map(({ spec: { template } }) => [
        template.metadata.labels['app.kubernetes.io/component'],
        filesOf(template.spec)
      ])
  )
  return Object.keys({ ...expected, ...found }).flatMap((pod) => {
    const [wanted, got] = [expected[pod] ?? {}, found[pod] ?? {}]
    return Object.keys({ ...wanted, ...got })
      .filter((file) => wanted[file] !== got[file])
      .map((file) => `${pod}: ${file} is ${got[file] ?? 'not there'} and should be ${wanted[file] ?? 'nothing'}`)
  })
}

function filesOf({ volumes = [] }) {
  const sources = volumes.flatMap(({ projected }) => projected?.sources ?? [])
  const files = sources.flatMap((source) =>
    Object.entries(source).flatMap(([kind, { name, items }]) =>
      items.map(({ key, path }) => [path, `${kind} ${name} ${key}`])
    )
  )
  return Object.fromEntries(files)
}
