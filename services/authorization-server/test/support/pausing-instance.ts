import type { Statement } from '@valetkey/service-kit'
import type { TestServer } from './authorization-server.js'
import { startInstance } from './instance.js'

/** A function that runs once before the next statement whose name starts with `before`. */
type Pause = { before: string; run(): Promise<unknown> }

/** Another instance, which runs `pauses.next` before its statement. */
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
