import type { Statement } from '@valetkey/service-kit'
import type { TestServer } from './authorization-server.js'
import { startInstance } from './instance.js'

/** Before the statement of this name something else happens, to its end, and only once. */
type Pause = { before: string; run(): Promise<unknown> }

/** Another instance, which stops before the statement whose name begins as `pauses.next` until that has run. */
export async function startPausingInstance(server: TestServer) {
  const pauses: { next: Pause | undefined } = { next: undefined }
  const paused = await startInstance(server, {
    wrap: (database) => ({
      ...database,
      async query(statement: Statement) {
        if (pauses.next !== undefined && statement.name.startsWith(pauses.next.before)) {
          const { run } = pauses.next
          pauses.next = undefined
          await run()
        }
        return database.query(statement)
      }
    })
  })
  return { paused, pauses }
}
