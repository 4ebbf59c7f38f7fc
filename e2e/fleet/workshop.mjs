// A folder and the processes that work in it; both are gone when `close` has ended.
import { createProcesses } from '../../packages/dev-stack/lib/processes/processes.mjs'
import { makeTestDirectory, removeTestDirectory } from '../../packages/dev-stack/lib/tests/test-directory.mjs'

export function openWorkshop() {
  const processes = createProcesses()
  const { directory } = makeTestDirectory()
  return {
    directory,
    processes,
    async close() {
      await processes.stopAll()
      await removeTestDirectory(directory)
    }
  }
}
