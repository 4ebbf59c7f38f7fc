// The folder and the processes of one benchmark. Both are removed when it ends, also after an error.
import { createProcesses } from '../../packages/dev-stack/lib/processes/processes.mjs'
import { onStopRequest } from '../../packages/dev-stack/lib/processes/stop-requests.mjs'
import { makeTestDirectory, removeTestDirectory } from '../../packages/dev-stack/lib/tests/test-directory.mjs'
import { complaintsIn } from './complaints.mjs'

/** Runs a benchmark and exits with the code that it returns. */
export async function inWorkplace(run) {
  const processes = createProcesses()
  const { directory } = makeTestDirectory()
  const undo = []
  let ending
  const end = (code) => {
    ending ??= cleanUp(code)
    return ending
  }
  onStopRequest({ onStop: () => end(130), onForce: () => process.exit(130) })
  try {
    await end(await run({ directory, processes, afterwards: (step) => undo.unshift(step) }))
  } catch (error) {
    if (ending === undefined) console.error([error.stack, ...complaintsIn(directory)].join('\n'))
    await end(1)
  }

  async function cleanUp(code) {
    for (const step of undo) await step()
    await processes.stopAll()
    await removeTestDirectory(directory)
    process.exit(code)
  }
}
