import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from '@jest/globals'
import { checks } from '../../src/checks/checks.js'
import { readClientFile } from '../../src/client-file.js'
import { PROFILES } from '../../src/outcome.js'

const page = readFileSync(path.join(import.meta.dirname, '../../../../docs/conformance.md'), 'utf8')

test('docs/conformance.md lists exactly the checks, in the order of a run', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  const expected = checks.map(({ id, title, section, level, profiles, needs = [] }) => {
    const names = profiles.length === PROFILES.length ? 'all' : profiles.join(', ')
    return `| \`${id}\` | ${title} | ${section} | ${level} | ${names} | ${needs.join(', ')} |`
  })
  expect(rows).toEqual(expected)
})

test('docs/conformance.md shows the example of a client file, which can be read', () => {
  const file = path.join(import.meta.dirname, '../../../../examples/conformance/client.json')
  expect(page).toContain(`\`\`\`json\n${readFileSync(file, 'utf8')}\`\`\``)
  expect(readClientFile(file).otherClient?.id).toBe('conformance-2')
})

test('ids differ; every check has a section, a hint and a profile', () => {
  expect(new Set(checks.map(({ id }) => id)).size).toBe(checks.length)
  for (const { id, section, hint, profiles } of checks) {
    expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/)
    expect(section).toMatch(/^(RFC \d{4} §\d|MCP |FAPI 2\.0 Security Profile §|Valetkey contract §)/)
    expect(hint).toMatch(/\.$/)
    expect(profiles.length).toBeGreaterThan(0)
  }
})

test('the checks that need no user come before those that do', () => {
  const needUser = checks.map(({ needs = [] }) => needs.includes('sign-in'))
  expect(needUser).toEqual([...needUser].sort())
})
