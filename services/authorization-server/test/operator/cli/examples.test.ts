import { expect, test } from '@jest/globals'
import type { Command } from 'commander'
import { FEATURES } from '../../../src/features.js'
import type { CommandDeps } from '../../../src/operator/cli/command-deps.js'
import { examplesWith, leafCommands } from '../../../src/operator/cli/examples.js'
import { buildProgram } from '../../../src/operator/cli/program.js'

const EXAMPLES = examplesWith(FEATURES)

/** The program with commands that do nothing. Names of clients are looked up in a database without rows. */
function inertProgram(): Command {
  const database = () => ({ query: async () => [] })
  const program = buildProgram({ out: () => {}, say: () => {}, database } as unknown as CommandDeps, FEATURES)
  for (const { command } of leafCommands(program)) command.action(() => {})
  return program
}

/** Splits as a shell does: quotes, and no redirection. */
function argumentsOf(example: string): string[] {
  const [command = ''] = example.split(/ (?:<|>|>>) /)
  return (command.match(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g) ?? []).map((word) => word.replace(/["']/g, ''))
}

test('every command has an example, and every example a command', () => {
  expect(Object.keys(EXAMPLES).sort()).toEqual(
    leafCommands(inertProgram())
      .map(({ path }) => path)
      .sort()
  )
})

test.each(Object.entries(EXAMPLES))('the example of %s is accepted by the command', async (path, example) => {
  const program = inertProgram()
  const ran: string[] = []
  for (const leaf of leafCommands(program)) leaf.command.action(() => void ran.push(leaf.path))
  await program.parseAsync(['node', 'valetkey', ...argumentsOf(example)])
  expect(ran).toEqual([path])
})

test('help prints the example', () => {
  const help: string[] = []
  const program = buildProgram(
    { out: (text: string) => void help.push(text), say: () => {} } as unknown as CommandDeps,
    FEATURES
  )
  expect(() => program.parse(['node', 'valetkey', 'clients', 'list', '--help'])).toThrow()
  expect(help.join('')).toContain('Example:\n  valetkey clients list --name printer\n')
})
