// Stands in for both command lines: keeps what was created in a file, and its calls with it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const stateFile = process.env.STAND_IN_STATE
const state = existsSync(stateFile)
  ? JSON.parse(readFileSync(stateFile, 'utf8'))
  : { calls: [], users: [], clients: [] }
const args = process.argv.slice(2)
const option = (name) => args[args.indexOf(name) + 1]
const answer = (document) => console.log(JSON.stringify(document))

switch (args.slice(0, 2).join(' ')) {
  case 'users list':
    answer(state.users)
    break
  case 'users create':
    state.users.push({ user_id: `user-${state.users.length + 1}`, username: args[2] })
    answer(state.users.at(-1))
    break
  case 'clients show': {
    const found = state.clients.find(({ client_id: id }) => id === args[2])
    if (found === undefined) process.exit(4)
    answer(found)
    break
  }
  case 'clients create':
    state.clients.push({ client_id: `client-${state.clients.length + 1}`, client_secret: 'stand-in secret' })
    answer(state.clients.at(-1))
    break
  case 'resource-servers create':
    answer({ client_id: option('--client-id') })
    break
  case 'exit with':
    process.exitCode = Number(args[2])
    break
}
state.calls.push({
  args,
  databaseUrl: process.env.DATABASE_URL,
  resourceDatabaseUrl: process.env.RESOURCE_DATABASE_URL
})
writeFileSync(stateFile, JSON.stringify(state))
