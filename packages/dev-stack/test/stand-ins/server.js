// Replaces a service: logs its environment, and responds with 200 at its listen addresses.
import { createServer } from 'node:http'

console.log(JSON.stringify({ standIn: true, pid: process.pid, environment: process.env }))
if (process.env.STAND_IN_FAILURE) {
  console.error(process.env.STAND_IN_FAILURE)
  process.exit(1)
}
for (const variable of ['PUBLIC_LISTEN', 'INTERNAL_LISTEN', 'OPERATOR_LISTEN', 'LISTEN']) {
  const [host, port] = process.env[variable]?.split(':') ?? []
  if (host === undefined) continue
  createServer((_request, response) => response.end('ready')).listen(Number(port), host)
}
process.on('SIGTERM', () => {
  if (process.env.STAND_IN_IGNORES === 'SIGTERM') return
  console.log('stand-in stops in order')
  process.exit(0)
})
