// A folder and the processes that use it. `close` ends the processes and removes the folder.
import { createProcesses } from '../../packages/dev-stack/lib/processes/processes.mjs'
import { makeTestDirectory, removeTestDirectory } from '../../packages/dev-stack/lib/tests/test-directory.mjs'

/** @import { Processes } from '../../packages/dev-stack/lib/processes/processes.mjs' */
/** @typedef {ReturnType<typeof openWorkshop>} Workshop */
/** @typedef {{ directory: string, processes: Processes }} Tools of a workshop */

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
