// Runs the first commands of docs/runbooks.md: one of each kind, in its container.
import assert from 'node:assert/strict'
import { documentedCommands, withNames } from './documented-commands.mjs'

export async function runbookChecks(report, stack) {
  await report.check('docs/runbooks.md: each kind of command runs in its container', async () => {
    // The user is not that of the tokens that are needed later, because a new password ends all of them.
    await stack.valetkey(['users', 'create', 'bob', '--password-stdin'], { input: 'a first and good password' })
    const [block] = documentedCommands('runbooks.md', '# Runbooks')[''] ?? ['']
    const commands = withNames(block, { alice: 'bob' }).trim().split('\n')
    assert.equal(commands.length, 4)
    const answers = []
    for (const command of commands) answers.push((await stack.shell(command, { input: 'select 6 * 7' })).stdout)
    const [server, files, password, sql] = answers
    assert.match(server, /redis/i)
    assert.match(files, /introspection/i)
    assert.match(password, /bob/)
    assert.match(sql, /42/)
  })
}
