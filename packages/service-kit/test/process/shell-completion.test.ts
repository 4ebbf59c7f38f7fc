import { execFileSync } from 'node:child_process'
import { expect, test } from '@jest/globals'
import { completionScript } from '../../src/process/shell-completion.js'

const leaf = (name: string, ...options: string[]) => ({
  name: () => name,
  commands: [],
  options: options.map((long) => ({ long, hidden: long === '--secret' }))
})

const program = {
  name: () => 'valetkey-files',
  options: [{ long: '--version', hidden: false }],
  commands: [
    leaf('import', '--owner', '--secret'),
    { name: () => 'users', options: [], commands: [leaf('link', '--issuer'), leaf('link-all', '--file')] }
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
  ]
])('bash completes %j to %j', (words, expected) => {
  expect(completions(...words)).toEqual(expected)
})

test('the script for zsh loads bashcompinit first', () => {
  expect(completionScript(program, 'zsh').split('\n')[0]).toContain('bashcompinit')
})
