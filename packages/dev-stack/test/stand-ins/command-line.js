// Replaces both command lines: appends its calls and the created records to files, one line each.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

const fileOf = (kind) => `${process.env.STAND_IN_STATE}.${kind}`
const all = (kind) =>
  existsSync(fileOf(kind))
    ? readFileSync(fileOf(kind), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : []
const args = process.argv.slice(2)
const answer = (document) => console.log(JSON.stringify(document))

function add(kind, document) {
  appendFileSync(fileOf(kind), `${JSON.stringify(document)}\n`)
  return document
}

switch (args.slice(0, 2).join(' ')) {
  case 'users list':
    answer(all('users'))
    break
  case 'users show': {
    const found = all('users').find(({ username }) => username === args.at(-1))
    if (found === undefined) process.exit(3)
    console.log(found.user_id)
    break
  }
  case 'users create':
    answer(add('users', { user_id: `user-${all('users').length + 1}`, username: args[2] }))
    break
  case 'clients show': {
    const found = all('clients').find(({ client_id: id }) => id === args[2])
    if (found === undefined) process.exit(4)
    answer(found)
    break
  }
  case 'clients create':
    answer(add('clients', { client_id: `client-${all('clients').length + 1}`, client_secret: 'stand-in secret' }))
    break
  case 'resource-servers create':
    answer({})
    break
  case 'exit with':
    process.exitCode = Number(args[2])
    break
}
add('calls', { args, databaseUrl: process.env.DATABASE_URL, resourceDatabaseUrl: process.env.RESOURCE_DATABASE_URL })
