// Hashes passwords until stopped, with the same concurrency as the authorization server, in a separate process.
import { availableParallelism } from 'node:os'
import { hashPassword } from '../../services/authorization-server/dist/platform/passwords/password.js'

const atOnce = Math.max(1, Math.min(3, availableParallelism() - 1))

for (let worker = 0; worker < atOnce; worker++) hashOn()

async function hashOn() {
  await hashPassword('correct horse battery staple')
  setImmediate(hashOn)
}
