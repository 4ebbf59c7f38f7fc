import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { fastify, type RouteOptions } from 'fastify'
import { readConfig as readDemoConfig } from '../examples/demo-client/src/config.js'
import { mintAccessToken, mintOpaqueToken } from '../packages/oauth-protocol/src/opaque-token.js'
import { readConfig as readAuthorizationConfig } from '../services/authorization-server/src/config.js'
import { buildProgram as buildValetkey } from '../services/authorization-server/src/operator/cli/program.js'
import { adminRoutes } from '../services/authorization-server/src/operator/http/routes.js'
import {
  clientAuthenticationLimit,
  operatorAuthenticationLimit,
  resourceServerAuthenticationLimit,
  signInLimits
} from '../services/authorization-server/src/platform/rate-limits/rules.js'
import { readConfig as readFilesConfig } from '../services/resource-server/src/config.js'
import { buildProgram as buildValetkeyFiles } from '../services/resource-server/src/operator/cli/program.js'
import { anchorsOf, code, codeOf, files, linksOf, matches, read, root, rowsBelow, sorted } from './support/documents.js'

const pages = files.filter((file) => file.endsWith('.md') && !file.startsWith('.github/'))

describe.each(pages)('%s', (page) => {
  const here = path.posix.dirname(page)

  test('every link leads to a file and a heading that exist', () => {
    const dead = linksOf(page).filter((link) => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? page : path.posix.join(here, file)
      if (!existsSync(path.join(root, target))) return true
      return anchor !== undefined && !anchorsOf(target).includes(anchor)
    })
    expect(dead).toEqual([])
  })

  test('every path that is named exists', () => {
    const named = codeOf(page).flat()
    const paths = named.filter((word) => /^[\w.@*-]+(\/[\w.@*-]+)*\/?$/.test(word) && !/NNNN|^\.data/.test(word))
    const inTree = paths.filter((word) => readdirSync(root).includes(word.split('/')[0] ?? '') && word.includes('/'))
    const byName = paths.filter((word) => /\.(ts|mjs|cjs|md|json|sql|hbs|yml)$/.test(word) && !inTree.includes(word))
    const lost = [
      ...inTree.filter((word) => !isThere(word) && !isThere(path.posix.join(here, word))),
      ...byName.filter((word) => !endsAFile(word))
    ]
    expect(lost).toEqual([])
  })

  test('every valetkey command and option that is named is known to --help', () => {
    expect(codeOf(page).flatMap(unknownCommands)).toEqual([])
  })

  test('every npm script that is named exists', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = matches(read(page), /npm run (?:--silent )?([a-z][\w:-]*)/g)
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
  })
})

function isThere(word: string): boolean {
  if (!word.includes('*')) return existsSync(path.join(root, word))
  const pattern = new RegExp(`^${word.replaceAll('.', '\\.').replaceAll('*', '[^/]+')}`)
  return files.some((file) => pattern.test(file))
}

const endsAFile = (word: string): boolean => files.some((file) => file === word || file.endsWith(`/${word}`))

const context = {
  environment: () => ({}),
  databaseUrl: () => '',
  database: () => {
    throw new Error('no command is run here')
  },
  stdin: process.stdin,
  userName: () => '',
  out() {},
  say() {},
  isWatched: false,
  columns: () => 80,
  confirm: undefined,
  untilInterrupted: () => new AbortController().signal
}
const programs = { valetkey: buildValetkey(context), 'valetkey-files': buildValetkeyFiles(context) }
type Command = (typeof programs)['valetkey']

/** What a line of code asks of our command lines in vain. A bare `valetkey`, and a chart's or folder's name, ask nothing. */
function unknownCommands(words: string[]): string[] {
  const at = words.findIndex((word, index) => word in programs && words[index - 1] !== 'install')
  const name = words[at] as keyof typeof programs
  if (at < 0) return []
  let command: Command = programs[name]
  const rest = words.slice(at + 1).filter((word) => word !== '--')
  if (!/^[a-z]/.test(rest[0] ?? '')) return []
  while (command.commands.length > 0) {
    const word = rest.shift() ?? ''
    const next = command.commands.find((one) => one.name() === word)
    if (next === undefined) return [`${command.name()} ${word}`]
    command = next
  }
  const known = ['--help', ...command.options.map(({ long }) => long)]
  return rest
    .filter((word) => word.startsWith('--') && !known.includes(word))
    .map((word) => `${command.name()} ${word}`)
}

function leavesOf(command: Command, prefix: string): string[] {
  if (command.commands.length === 0) return [prefix]
  return command.commands.flatMap((one) => leavesOf(one, `${prefix} ${one.name()}`))
}

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

  test.each([
    [
      'docs/settings.md',
      '## Authorization server',
      'services/authorization-server/src/config.ts',
      readAuthorizationConfig
    ],
    ['docs/settings.md', '## Resource server', 'services/resource-server/src/config.ts', readFilesConfig],
    ['examples/demo-client/README.md', '## Settings', 'examples/demo-client/src/config.ts', readDemoConfig]
  ])('%s, %s: every variable, and no other, with its default', (page, heading, file, readConfig) => {
    const rows = rowsBelow(read(page), heading).map(([cell, fallback]) => ({
      name: code(cell)[0] ?? '',
      fallback
    }))
    const inCode = matches(read(file), /(?:read\.\w+|text|webAddress|listenAddress)\(\s*'([A-Z][A-Z_]+)'/g)
    expect(sorted(rows.map(({ name }) => name))).toEqual(sorted(inCode))

    const required = rows.filter(({ fallback }) => fallback === 'required').map(({ name }) => name)
    const least = Object.fromEntries(required.map((name) => [name, samples[name] ?? anything]))
    const byDefault = readConfig(least)
    for (const name of required) expect(() => readConfig({ ...least, [name]: '' })).toThrow(name)
    for (const { name, fallback } of rows) {
      const [value] = code(fallback)
      if (value !== undefined) expect(readConfig({ ...least, [name]: value })).toEqual(byDefault)
    }
  })

  test('docs/commands.md: every command, and no other', () => {
    const named = rowsBelow(read('docs/commands.md'), '## Command lines').flatMap(([command]) => code(command))
    const known = Object.entries(programs).flatMap(([name, program]) => leavesOf(program, name))
    expect(sorted(named.filter((one) => one.includes(' ')))).toEqual(sorted(known))
  })

  test('docs/audit.md: every audit event, and no other; docs/logs.md: every event of the logs', () => {
    const trail = read('services/authorization-server/src/platform/audit/audit-event.ts')
    const names = matches(trail.split('export type AuditEvent =')[0] ?? '', /[|=] '(\w+)'/g)
    expect(
      rowsBelow(read('docs/audit.md'), '## Events')
        .flatMap(([event]) => code(event))
        .sort()
    ).toEqual(names.sort())
    const sources = files.filter((file) => /^(services|packages)\/[^/]+\/src\/.+\.ts$/.test(file))
    // An object that begins with its event is a line of the log; the feed's frames name their stream first.
    const logged = sources.flatMap((file) => matches(read(file), /\{\s*event: '(\w+)'/g))
    const described = [...names, ...rowsBelow(read('docs/logs.md'), '## Events').flatMap(([event]) => code(event))]
    expect(sorted(logged).filter((event) => !described.includes(event))).toEqual([])
  })

  test('docs/administration-api.md: every list, and its filters', async () => {
    const routes: RouteOptions[] = []
    const app = fastify().addHook('onRoute', (route) => void routes.push(route))
    // No route is called, so none of them needs a store.
    await app.register(adminRoutes, { prefix: '/admin' } as never)
    await app.ready()
    await app.close()
    const lists = routes.flatMap(({ method, url, schema }) => {
      const { properties } = (schema?.querystring ?? {}) as { properties?: object }
      const isOne = /:\w+$/.test(url)
      if (method !== 'GET' || isOne || (schema as { hide?: boolean }).hide) return []
      const filters = Object.keys(properties ?? {}).filter((name) => !['after', 'limit'].includes(name))
      return [[url.replaceAll(/:(\w+)/g, '{$1}'), filters] as const]
    })
    const named = rowsBelow(read('docs/administration-api.md'), '## Paths').flatMap(([path, what = '']) => {
      const [, filters] = /^GET lists(?: \[[^\]]+\]\([^)]+\))?(?: \(([^)]+)\))?/.exec(what) ?? []
      return what.startsWith('GET lists') ? [[code(path)[0], code(filters)] as const] : []
    })
    expect(lists.length).toBeGreaterThan(6)
    expect(Object.fromEntries(named)).toEqual(Object.fromEntries(lists))
  })

  test('docs/limits.md: the limits are those in force', () => {
    const inForce = [
      ...signInLimits('a', '::1', false),
      clientAuthenticationLimit('::1'),
      resourceServerAuthenticationLimit('::1'),
      operatorAuthenticationLimit('::1')
    ]
    const named = rowsBelow(read('docs/limits.md'), '## Failed attempts').map(([, , count, window]) => [count, window])
    expect(named).toEqual(
      inForce.map(({ count, windowSeconds }) => [`${count}`, windowSeconds === 60 ? '1 minute' : '15 minutes'])
    )
  })

  test('docs/rotation.md: the pattern for secret scanners finds every kind of secret, and the table has their lengths', () => {
    const page = read('docs/rotation.md')
    const random = (size: number) => Buffer.alloc(size, 7)
    const kinds = ['refreshToken', 'authorizationCode', 'clientSecret', 'operatorKey'] as const
    const secrets = [mintAccessToken(new Date(), random), ...kinds.map((kind) => mintOpaqueToken(kind, random))]
    const pattern = new RegExp(`^${matches(page, /```text\n(vk_.*)\n```/g)[0]}$`)
    expect(secrets.filter((secret) => !pattern.test(secret))).toEqual([])
    const rows = rowsBelow(page, '## Keys and secrets').map(([prefix, , length]) => [code(prefix)[0], length])
    expect(rows).toEqual(secrets.map((secret) => [secret.slice(0, 6), `${secret.length}`]))
  })
})

test('docs/protocol.md: every rule names a source, a file and a test that exist', () => {
  const linked = (cell = '') => matches(cell, /\]\(([^)#]+)/g).map((link) => path.posix.join('docs', link))
  const isTest = (file: string) => /\.test\.ts$|\.mjs$/.test(file)
  const rows = read('docs/protocol.md')
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\| (rule|---) \|/.test(line))
  const incomplete = rows.filter((row) => {
    const [rule, source, file, tests, ...more] = row.slice(2, -2).split(' | ')
    const hasSource = /RFC \d+ §\d|RFC \d+(,|$)/.test(source ?? '') || linked(source).length > 0
    const isComplete = rule !== '' && hasSource && linked(file).length > 0 && linked(tests).length > 0
    const areInPlace = !linked(file).some((one) => one.endsWith('.test.ts')) && linked(tests).every(isTest)
    return !isComplete || !areInPlace || more.length > 0
  })
  expect(rows.length).toBeGreaterThan(150)
  expect(incomplete).toEqual([])
  expect(rows.flatMap(linked).filter((file) => !files.includes(file))).toEqual([])
})

test('docs/libraries.md: every direct dependency with its version, and no other', () => {
  const named = matches(read('docs/libraries.md'), /^- (@?[\w./-]+ \d[^ :]*): \S/gm)
  const manifests = files.filter((file) => file.endsWith('package.json'))
  const used = manifests.flatMap((file) => {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read(file)) as Record<string, object>
    return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
  })
  const ours = used.filter(([name]) => !name.startsWith('@valetkey/')).map(([name, version]) => `${name} ${version}`)
  expect(sorted(named)).toEqual(sorted(ours))
})

test('docs/adr/README.md: every decision, and no other', () => {
  const decisions = files.filter((file) => /^docs\/adr\/\d/.test(file)).map((file) => path.basename(file))
  expect(sorted(linksOf('docs/adr/README.md'))).toEqual(sorted(decisions))
})

test('docs/README.md: a link to every page beside it, and to the decisions', () => {
  const pages = files.filter((file) => /^docs\/[^/]+\.md$/.test(file)).map((file) => path.basename(file))
  const linked = linksOf('docs/README.md').map((link) => link.split('#')[0] ?? '')
  expect(linked).toEqual(expect.arrayContaining([...pages.filter((page) => page !== 'README.md'), 'adr/README.md']))
})
