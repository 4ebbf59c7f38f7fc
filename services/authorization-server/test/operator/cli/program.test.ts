import { describe, expect, test } from '@jest/globals'
import type { Database } from '@valetkey/service-kit'
import { runCommand } from '../../support/command-line.js'

const unreachable: Database = {
  query: () => Promise.reject(new Error('help needs no database')),
  close: () => Promise.resolve()
}

const help = (command: string) => runCommand(unreachable, [...command.split(' ').filter(Boolean), '--help'])

const COMMANDS = [
  'migrate',
  'doctor',
  'apply',
  'export',
  'users create',
  'users list',
  'users show',
  'users disable',
  'users enable',
  'users set-password',
  'users delete',
  'scopes create',
  'scopes list',
  'scopes update',
  'scopes delete',
  'clients create',
  'clients list',
  'clients show',
  'clients update',
  'clients disable',
  'clients enable',
  'clients delete',
  'clients secrets',
  'clients rotate-secret',
  'clients delete-secret',
  'resource-servers create',
  'resource-servers update',
  'grants list',
  'grants revoke',
  'audit tail',
  'resource-servers list',
  'resource-servers rotate-secret',
  'resource-servers delete',
  'operator-keys create',
  'operator-keys list',
  'operator-keys revoke'
]

describe('help (contract 5)', () => {
  test.each(['', 'users', 'scopes', 'clients', 'resource-servers', 'grants', 'operator-keys', 'audit', ...COMMANDS])(
    'valetkey %s --help is 0, on stdout',
    async (command) => {
      const { code, out, said } = await help(command)
      expect([code, said]).toEqual([0, ''])
      expect(out).toMatch(new RegExp(`^Usage: valetkey ${command}`))
    }
  )

  test('valetkey --help lists commands, settings and exit codes', async () => {
    const { out } = await help('')
    for (const word of [...COMMANDS.map((command) => command.split(' ')[0] ?? ''), 'DATABASE_URL'])
      expect(out).toContain(word)
    for (const line of ['0  success', '1  failure', '2  wrong usage', '3  not found', '4  conflict'])
      expect(out).toContain(line)
  })

  test.each(COMMANDS)('%s has --json, and its help describes the document', async (command) => {
    expect((await help(command)).out).toMatch(/--json +print \{/)
  })

  test('--version prints the version alone', async () => {
    expect(await runCommand(unreachable, ['--version'])).toEqual({
      code: 0,
      out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      said: ''
    })
  })

  test('completion prints a script for the named shell, and names the shells otherwise', async () => {
    expect((await runCommand(unreachable, ['completion', 'bash'])).out).toMatch(/^_valetkey\(\) \{\n/)
    const { code, said } = await runCommand(unreachable, ['completion', 'tcsh'])
    expect([code, said]).toEqual([2, expect.stringContaining('Allowed choices are bash, zsh')])
  })
})
