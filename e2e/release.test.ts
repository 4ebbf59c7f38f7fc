import { spawnSync } from 'node:child_process'
import { describe, expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { changesOf, closeUnreleased, sectionOf } from '../infra/release/changelog.mjs'
import { outdatedPages, planRelease, refuseRelease, refuseTag } from '../infra/release/plan.mjs'
import { files, matches, read, root } from './support/documents.js'

const DATE = '9999-12-31'

/** The files after a release, and with other texts. */
function released(version: string, others: Record<string, string> = {}) {
  const from = (file: string) => others[file] ?? read(file)
  const plan = planRelease(from, version, DATE)
  return (file: string) => plan.get(file) ?? from(file)
}

test('every package, the chart and the examples have one version', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const after = released('9999.0.0')
  const manifests = files.filter((file) => file.endsWith('package.json') && /"version": /.test(read(file)))
  for (const file of manifests) {
    expect([file, JSON.parse(read(file)).version]).toEqual([file, version])
    expect([file, JSON.parse(after(file)).version]).toEqual([file, '9999.0.0'])
  }
  const chart = after('infra/helm/valetkey/Chart.yaml')
  expect(matches(chart, /^(?:v|appV)ersion: (.+)$/gm)).toEqual(['9999.0.0', '9999.0.0'])
  const production = after('infra/helm/valetkey/examples/production.yaml')
  expect(matches(production, /^ +tag: (.+)$/gm)).toEqual(['9999.0.0', '9999.0.0'])
  expect(matches(after('examples/mcp-server/src/tools.ts'), /version: '(.+?)'/g)).toEqual(['9999.0.0'])
})

describe('changelog', () => {
  const changelog = '# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n\n## 1.0.0 - 2026-01-01\n\n- B.\n'

  test('a release moves the unreleased section below its heading, and leaves an empty one', () => {
    const closed = closeUnreleased(changelog, '1.1.0', DATE)
    expect(sectionOf(closed, 'Unreleased')).toBe('')
    expect(sectionOf(closed, '1.1.0')).toBe('### Added\n\n- A.')
    expect(sectionOf(closed, '1.0.0')).toBe('- B.')
  })

  test('a second release without changes has the text "No changes."', () => {
    const closed = closeUnreleased(closeUnreleased(changelog, '1.1.0', DATE), '1.1.1', DATE)
    expect(sectionOf(closed, '1.1.1')).toBe('No changes.')
  })
})

describe('changes for Artifact Hub', () => {
  test('are the bullets below headings of a kind, as text', () => {
    const section =
      '### Upgrade\n\n- Run it.\n\n### Added\n\n- One [page](docs/a.md)\n  of two lines.\n- Two.\n\n### Fixed\n\n- Three.\n'
    expect(changesOf(section)).toEqual([
      { kind: 'added', description: 'One page of two lines.' },
      { kind: 'added', description: 'Two.' },
      { kind: 'fixed', description: 'Three.' }
    ])
  })

  test('are all entries of the changelog that are no upgrade notes', () => {
    const section = sectionOf(read('CHANGELOG.md'), 'Unreleased') ?? ''
    const upgrade = /^### Upgrade\n[\s\S]*?(?=^### |$(?![\s\S]))/m.exec(section)?.[0] ?? ''
    const bullets = matches(section.replace(upgrade, ''), /^(- )/gm)
    expect(changesOf(section)).toHaveLength(bullets.length)
    expect(changesOf(section).filter(({ description }) => /\]\(/.test(description))).toEqual([])
  })
})

describe('npm run release refuses', () => {
  test('no later version with a changelog', () => {
    const changelog = { 'CHANGELOG.md': '## Unreleased\n\n### Upgrade\n\nNothing to do.\n' }
    expect(refuseRelease((file) => (changelog as Record<string, string>)[file] ?? read(file), '9999.0.0')).toEqual([])
    expect(refuseTag(released('9999.0.0', changelog), 'v9999.0.0')).toEqual([])
  })

  test.each([
    { name: 'a version with v', version: 'v1.2.3', others: {}, reason: /no version/ },
    { name: 'a pre-release', version: '1.2.3-rc.1', others: {}, reason: /no version/ },
    {
      name: 'an empty section',
      version: '9999.0.0',
      others: { 'CHANGELOG.md': '## Unreleased\n' },
      reason: /Unreleased is empty/
    },
    {
      name: 'a section without upgrade notes',
      version: '9999.0.0',
      others: { 'CHANGELOG.md': '## Unreleased\n\n- A.\n' },
      reason: /no "### Upgrade"/
    },
    {
      name: 'a package with another version',
      version: '9999.0.0',
      others: { 'bench/package.json': '{\n  "version": "8.8.8"\n}' },
      reason: /^bench\/package\.json has 8\.8\.8/
    }
  ])('$name', ({ version, others, reason }) => {
    const from = (file: string) => (others as Record<string, string>)[file] ?? read(file)
    expect(refuseRelease(from, version)).toEqual(expect.arrayContaining([expect.stringMatching(reason)]))
  })

  test.each([
    { version: '1.9.9', isRefused: true },
    { version: '1.10.0', isRefused: true },
    { version: '1.10.1', isRefused: false },
    { version: '2.0.0', isRefused: false }
  ])('a version that is not later: $version after 1.10.0: $isRefused', ({ version, isRefused }) => {
    const refused = refuseRelease(released('1.10.0'), version).some((problem) => problem.includes('not later'))
    expect(refused).toBe(isRefused)
  })

  test('a tag of another version, and a changelog without its section', () => {
    expect(refuseTag(released('9999.0.0'), 'v9999.0.1')).toEqual(
      expect.arrayContaining(['package.json has 9999.0.0, not 9999.0.1', 'CHANGELOG.md has no section of 9999.0.1'])
    )
    expect(refuseTag(released('9999.0.0'), '9999.0.0')).toEqual(['9999.0.0 is no tag of the form v1.2.3'])
  })

  test('pages that say that nothing is released', () => {
    const page = (text: string) => outdatedPages((file) => (file === 'SECURITY.md' ? text : ''))
    expect(page('Nothing is released yet.')).toEqual(['SECURITY.md says that nothing is released'])
    expect(page('It is not on npm yet.')).toEqual(['SECURITY.md says that nothing is released'])
    expect(page('Fixes go to the newest release.')).toEqual([])
  })
})

test('a release that is refused prints each reason, also of pages, and changes no file', () => {
  const texts = () => ['package.json', 'CHANGELOG.md', 'infra/helm/valetkey/Chart.yaml'].map(read)
  const before = texts()
  const command = spawnSync(process.execPath, ['infra/release/release.mjs', '0.0.0'], {
    cwd: root,
    encoding: 'utf8'
  })
  expect(command.status).toBe(1)
  const reasons = [...refuseRelease(read, '0.0.0'), ...outdatedPages(read)]
  expect(command.stderr).toBe([...reasons, 'Not released. docs/releasing.md describes the steps.', ''].join('\n'))
  expect(texts()).toEqual(before)
})

test('docs/install.md verifies what the release workflow signs', () => {
  const workflow = read('.github/workflows/release.yml')
  const [documented] = matches(read('docs/install.md'), /--certificate-identity "([^"]+)"/g)
  const signed = matches(workflow, /--certificate-identity "([^"]+)"/g)
  const names = { OWNER: '$GITHUB_REPOSITORY', VERSION: '$VERSION' }
  const expected = documented?.replace('OWNER/valetkey', names.OWNER).replace('VERSION', names.VERSION)
  expect(signed).toEqual([expected, expected])
  const issuers = [workflow, read('docs/install.md')].flatMap((text) =>
    matches(text, /--certificate-oidc-issuer (\S+)/g)
  )
  expect(new Set(issuers).size).toBe(1)
})

test('the release workflow stages each package that is packed', () => {
  const packages = files.flatMap((file) => /^packages\/(\w+)\/publish\/pack\.mjs$/.exec(file)?.[1] ?? []).sort()
  const { jobs } = parse(read('.github/workflows/release.yml')) as {
    jobs: Record<'artefacts' | 'npm', { outputs: object; strategy: { matrix: { package: string[] } } }>
  }
  expect(packages).toEqual(['conformance', 'guard'])
  expect(jobs.npm.strategy.matrix.package.sort()).toEqual(packages)
  expect(Object.keys(jobs.artefacts.outputs)).toEqual(expect.arrayContaining(packages))
  const commands = read('docs/releasing.md')
  for (const name of packages) {
    expect(commands).toContain(`npm trust github @valetkey/${name} `)
    expect(commands).toContain(`valetkey-${name}-1.2.3.tgz`)
    expect(read('docs/install.md')).toMatch(new RegExp(`^npm install .*@valetkey/${name}$`, 'm'))
  }
})
