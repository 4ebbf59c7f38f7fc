import { describe, expect, test } from '@jest/globals'
import { fastify, type RouteOptions } from 'fastify'
import { readConfig as readDemoConfig } from '../examples/demo-client/src/config.js'
import { expiryBucket, newOpaqueAccessToken, newOpaqueToken } from '../packages/oauth-protocol/src/opaque-token.js'
import { canonicalName } from '../packages/sign-in-rules/dist/index.js'
import { readConfig as readAuthorizationConfig } from '../services/authorization-server/src/config.js'
import { FEATURES } from '../services/authorization-server/src/features.js'
import { adminRoutes } from '../services/authorization-server/src/operator/http/routes.js'
import { auditEventsOf } from '../services/authorization-server/src/platform/audit/audit-event.js'
import {
  accountLinkLimit,
  clientAuthenticationLimit,
  operatorAuthenticationLimit,
  providerAddressLimit,
  reportedTokenLimit,
  resourceServerAuthenticationLimit,
  signInLimits
} from '../services/authorization-server/src/platform/rate-limits/rules.js'
import { readConfig as readFilesConfig } from '../services/resource-server/src/config.js'
import { leavesOf, programs } from './support/command-programs.js'
import { code, files, matches, read, rowsBelow, rowsUnder, sorted } from './support/documents.js'

/** Has every member and can be called; the result is the same object. Its text is an address, as an issuer is one. */
const inert: unknown = new Proxy(() => inert, {
  get(_, name) {
    if (name === Symbol.toPrimitive) return () => 'https://auth.example'
    return name === Symbol.iterator ? [][Symbol.iterator] : inert
  }
})

describe('pages for operators', () => {
  const samples: Record<string, string> = {
    ISSUER: 'http://localhost:4000',
    RESOURCE_URL: 'http://localhost:4100',
    DATABASE_URL: 'postgres://db',
    REDIS_URL: 'redis://cache',
    RESOURCE_DATABASE_URL: 'postgres://db',
    INTROSPECTION_URL: 'http://auth:4001/introspect',
    BASE_URL: 'http://127.0.0.1:4200',
    LISTEN: '127.0.0.1:4200'
  }
  const anything = 'a-word-of-at-least-thirty-two-characters'
  /** Other settings of a login page are refused without these. The key is that of RFC 7515, appendix A.3. */
  const loginPage = {
    LOGIN_HANDOFF_URL: 'https://login.example/page',
    LOGIN_HANDOFF_ISSUER: 'https://login.example',
    LOGIN_HANDOFF_KEYS: JSON.stringify({
      keys: [
        {
          kty: 'EC',
          crv: 'P-256',
          x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
          y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'
        }
      ]
    })
  }

  test.each([
    [
      'docs/settings.md',
      '## Authorization server',
      ['config', 'sign-in-config', 'access-choices-config', 'features/client-documents/client-metadata-config'].map(
        (name) => `services/authorization-server/src/${name}.ts`
      ),
      readAuthorizationConfig
    ],
    ['docs/settings.md', '## Resource server', ['services/resource-server/src/config.ts'], readFilesConfig],
    ['examples/demo-client/README.md', '## Settings', ['examples/demo-client/src/config.ts'], readDemoConfig]
  ])('%s, %s: exactly the variables of the source, with their defaults', (page, heading, files, readConfig) => {
    const rows = rowsBelow(read(page), heading).map(([cell, fallback]) => ({
      name: code(cell)[0] ?? '',
      fallback
    }))
    const inCode = matches(
      files.map(read).join('\n'),
      /(?:read\.\w+|text|webAddress|listenAddress)\(\s*'([A-Z][A-Z_]+)'/g
    )
    expect(sorted(rows.map(({ name }) => name))).toEqual(sorted(inCode))

    const required = rows.filter(({ fallback }) => fallback === 'required').map(({ name }) => name)
    const least = Object.fromEntries(required.map((name) => [name, samples[name] ?? anything]))
    for (const name of required) expect(() => readConfig({ ...least, [name]: '' })).toThrow(name)
    for (const { name, fallback } of rows) {
      const [value] = code(fallback)
      const given = name.startsWith('LOGIN_HANDOFF_') ? { ...least, ...loginPage } : least
      if (value !== undefined) expect(readConfig({ ...given, [name]: value })).toEqual(readConfig(given))
    }
  })

  // A feature may have its rows in its own page.
  test('docs/commands.md and pages of features: exactly the existing commands', () => {
    const named = rowsUnder('| command | what it does |').flatMap(([command]) => code(command))
    const known = Object.entries(programs).flatMap(([name, program]) => leavesOf(program, name))
    expect(sorted(named.filter((one) => one.includes(' ')))).toEqual(sorted(known))
  })

  test('docs/audit.md and pages of features: exactly the audit events; docs/logs.md: every event of the logs', () => {
    const names = Object.keys(auditEventsOf(FEATURES))
    expect(
      rowsUnder('| event | when, or by whom | further fields |')
        .flatMap(([event]) => code(event))
        .sort()
    ).toEqual(names.sort())
    const sources = files.filter((file) => /^(services|packages)\/[^/]+\/src\/.+\.ts$/.test(file))
    // An object whose first member is `event` is a log line; frames of the feed start with the stream.
    const logged = sources.flatMap((file) => matches(read(file), /\{\s*event: '(\w+)'/g))
    const described = [...names, ...rowsBelow(read('docs/logs.md'), '## Events').flatMap(([event]) => code(event))]
    expect(sorted(logged).filter((event) => !described.includes(event))).toEqual([])
  })

  test('docs/administration-api.md and pages of features: every list and its filters', async () => {
    const routes: RouteOptions[] = []
    const app = fastify().addHook('onRoute', (route) => void routes.push(route))
    // No route is called, so none of them needs a store.
    const features = FEATURES.map(({ start }) => start?.(inert as never) ?? {})
    await app.register(adminRoutes, { prefix: '/admin', features } as never)
    await app.ready()
    await app.close()
    const lists = routes.flatMap(({ method, url, schema }) => {
      const { properties } = (schema?.querystring ?? {}) as { properties?: object }
      const isOne = /:\w+$/.test(url)
      if (method !== 'GET' || isOne || (schema as { hide?: boolean }).hide) return []
      const filters = Object.keys(properties ?? {}).filter((name) => !['after', 'limit'].includes(name))
      return [[url.replaceAll(/:(\w+)/g, '{$1}'), filters] as const]
    })
    const named = rowsUnder('| path | methods |').flatMap(([path, what = '']) => {
      const [, filters] = /^GET lists(?: \[[^\]]+\]\([^)]+\))?(?: \(([^)]+)\))?/.exec(what) ?? []
      return what.startsWith('GET lists') ? [[code(path)[0], code(filters)] as const] : []
    })
    expect(lists.length).toBeGreaterThan(6)
    expect(Object.fromEntries(named)).toEqual(Object.fromEntries(lists))
  })

  test('docs/limits.md: the limits of the source', () => {
    const inForce = [
      ...signInLimits(canonicalName('a'), '::1', false),
      accountLinkLimit('::1'),
      providerAddressLimit('::1'),
      clientAuthenticationLimit('::1'),
      resourceServerAuthenticationLimit('::1'),
      operatorAuthenticationLimit('::1'),
      reportedTokenLimit('::1')
    ]
    const named = rowsBelow(read('docs/limits.md'), '## Failed attempts').map(([, , count, window]) => [count, window])
    expect(named).toEqual(
      inForce.map(({ count, windowSeconds }) => [`${count}`, windowSeconds === 60 ? '1 minute' : '15 minutes'])
    )
  })

  test('docs/rotation.md: the pattern for secret scanners matches every kind of secret, and the table has their lengths', () => {
    const page = read('docs/rotation.md')
    const random = (size: number) => Buffer.alloc(size, 7)
    const kinds = ['refreshToken', 'authorizationCode', 'clientSecret', 'operatorKey', 'requestUri'] as const
    const secrets = [
      newOpaqueAccessToken(expiryBucket(new Date()), random),
      ...kinds.map((kind) => newOpaqueToken(kind, random))
    ]
    const pattern = new RegExp(`^${matches(page, /```text\n(vk_.*)\n```/g)[0]}$`)
    expect(secrets.filter((secret) => !pattern.test(secret))).toEqual([])
    const rows = rowsBelow(page, '## Keys and secrets').map(([prefix, , length]) => [code(prefix)[0], length])
    expect(rows).toEqual(secrets.map((secret) => [secret.slice(0, 6), `${secret.length}`]))
  })
})
