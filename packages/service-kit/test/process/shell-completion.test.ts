import { execFileSync } from 'node:child_process'
import { expect, test } from '@jest/globals'
import { completionScript } from '../../src/process/shell-completion.js'

const VALUES: Record<string, { required: boolean; argChoices?: string[] }> = {
  '--issuer': { required: true },
  '--way': { required: true, argChoices: ['password', 'passkey'] }
}

const option = (long: string) => ({
  long,
  hidden: long === '--secret',
  optional: false,
  ...(VALUES[long] ?? { required: false })
})

const leaf = (name: string, ...options: string[]) => ({ name: () => name, commands: [], options: options.map(option) })

const program = {
  name: () => 'valetkey-files',
  options: [option('--version')],
  commands: [
    leaf('import', '--owner', '--secret'),
    { name: () => 'users', options: [], commands: [leaf('link', '--issuer', '--way'), leaf('link-all', '--file')] }
  ]
}

/** What bash offers for the last of these words. */
function completions(...words: string[]): string[] {
  const line = words.map((word) => `'${word}'`).join(' ')
  const script = `${completionScript(program, 'bash')}
    COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _valetkey_files; echo "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split(' ')
}

test.each([
  [
    ['valetkey-files', ''],
    ['import', 'users', '--version', '--help']
  ],
  [['valetkey-files', 'us'], ['users']],
  [
    ['valetkey-files', 'users', ''],
    ['link', 'link-all', '--help']
  ],
  [['valetkey-files', 'users', 'link', '--i'], ['--issuer']],
  [
    ['valetkey-files', 'users', 'link-all', '--'],
    ['--file', '--help']
  ],
  [['valetkey-files', 'users', 'link', 'alice', '--is'], ['--issuer']],
  [
    ['valetkey-files', 'import', '--'],
    ['--owner', '--help']
  ],
  [
    ['valetkey-files', 'users', 'link', '--way', ''],
    ['password', 'passkey']
  ],
  [['valetkey-files', 'users', 'link', 'alice', '--way', 'passk'], ['passkey']],
  // No other option stands in the place of a value.
  [['valetkey-files', 'users', 'link', '--issuer', ''], ['']],
  [['valetkey-files', 'users', 'link', '--issuer', 'https://a.example', '--w'], ['--way']]
])('bash completes %j to %j', (words, expected) => {
  expect(completions(...words)).toEqual(expected)
})

test('the script for zsh loads bashcompinit first', () => {
  expect(completionScript(program, 'zsh').split('\n')[0]).toContain('bashcompinit')
})

test('the script for fish has each command with its choices, and the values of its options', () => {
  const script = completionScript(program, 'fish')
  expect(script).toContain("case ' users link' ' users link *'")
  expect(script).toMatch(/case --issuer\n\s+case --way\n\s+string join \\n password passkey\n/)
  expect(script).toContain('string join \\n -- --issuer --way --help')
  expect(script).toContain("complete -c valetkey-files -f -a '(_valetkey_files)'")
})
