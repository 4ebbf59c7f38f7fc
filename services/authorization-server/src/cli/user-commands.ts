import { randomUUID } from 'node:crypto'
import { printResult } from '@valetkey/service-kit'
import type { Command } from 'commander'
import { hashPassword, isAcceptablePassword } from '../passwords/password.js'
import { createUserStore, type User } from '../storage/users.js'
import { type CommandContext, table } from './context.js'
import { CommandFailure } from './exit.js'
import { readSecret } from './read-secret.js'

export function addUserCommands(program: Command, context: CommandContext): void {
  const users = program.command('users').description('the people who sign in')

  users
    .command('create')
    .description('create a user')
    .argument('<username>', 'what the person types to sign in, 1 to 100 characters')
    .requiredOption(
      '--password-stdin',
      'read the password from standard input, to its end, without one trailing line break'
    )
    .option('--json', 'print {"user_id","username"}')
    .action(async (given: string, { json }: { json?: boolean }) => {
      const username = toUsername(given)
      const password = await readSecret(context.stdin, 'password')
      if (!isAcceptablePassword(password))
        throw new CommandFailure('usage', 'a password has 1 to 1024 bytes and no control characters')
      const user = { userId: randomUUID(), username, passwordHash: await hashPassword(password), createdAt: new Date() }
      const created = await createUserStore(context.database()).create(user)
      if (!created) throw new CommandFailure('conflict', `there is a user ${username} already`)
      printResult(context, json, { user_id: user.userId, username }, [
        `created user ${username}`,
        `user id: ${user.userId}`
      ])
    })

  users
    .command('list')
    .description('list all users')
    .option('--json', 'print {"users":[…]}')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await createUserStore(context.database()).list()
      const rows = found.map((user) => [user.userId, user.username, user.disabled ? 'disabled' : 'enabled'])
      const lines = rows.length === 0 ? ['There are no users.'] : table(['USER ID', 'USER NAME', 'STATE'], rows)
      printResult(context, json, { users: found.map(toJson) }, lines)
    })
}

function toUsername(given: string): string {
  const username = given.normalize('NFC').trim()
  if (username === '' || username.length > 100 || /\p{Cc}/u.test(username)) {
    throw new CommandFailure('usage', 'a user name has 1 to 100 characters and no control characters')
  }
  return username
}

function toJson(user: User) {
  return {
    user_id: user.userId,
    username: user.username,
    disabled: user.disabled,
    created_at: user.createdAt.toISOString()
  }
}
