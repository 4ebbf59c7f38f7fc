// npm run dev: the compiler writes dist on every save, and a service restarts when its compiled files change.
import { existsSync, realpathSync, watch } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { checkout } from '../checkout.mjs'
import { messageOf } from '../error-code.mjs'
import { nativeProgram } from '../processes/programs.mjs'

/** @import { Handle, Processes } from '../processes/processes.mjs' */
/** @import { Progress } from '../processes/progress.mjs' */
/** @typedef {{ services: Handle[], startServices(running: Handle[]): Promise<void>, processes: Processes, progress: Progress,
 *   onStarted(handle: Handle): void }} Running */

// One save changes several files, and the compiler builds one package after the other.
const SETTLE_MS = 300

const watchedFolders = [
  'services/authorization-server',
  'services/resource-server',
  'examples/demo-client',
  'packages/oauth-protocol',
  'packages/guard',
  'packages/service-kit'
].flatMap((folder) => ['dist', 'views', 'assets'].map((part) => path.join(checkout, folder, part)))

/**
 * Runs the compiler and restarts the services until the launcher stops.
 * @param {Running} running
 */
export function restartOnChange({ services, startServices, processes, progress, onStarted }) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let restarting = Promise.resolve()

  async function restart() {
    await Promise.all(services.splice(0).map((service) => service.stop()))
    try {
      await progress.step('Services restarted', () => startServices(services))
      for (const service of services) onStarted(service)
    } catch (error) {
      // Code is often broken while it is edited: print the error and try again at the next save.
      if (!processes.isStopping()) progress.say(messageOf(error))
    }
  }

  function schedule() {
    clearTimeout(timer)
    timer = setTimeout(() => {
      restarting = restarting.then(restart)
    }, SETTLE_MS)
  }

  for (const folder of watchedFolders.filter((candidate) => existsSync(candidate))) {
    watch(folder, { recursive: true }, schedule)
  }
  processes.show({ name: 'compiler', program: watchingCompiler(), environment: process.env, directory: checkout })
  progress.say('Watching for changes: each save recompiles and restarts the services.')
}

/** The compiler's native program. Its Node wrapper would not notice the end of the launcher. */
function watchingCompiler() {
  const typescript = createRequire(realpathSync(path.join(checkout, 'node_modules/typescript/package.json')))
  const home = typescript.resolve(`@typescript/typescript-${process.platform}-${process.arch}/package.json`)
  const args = ['-b', '--watch', '--preserveWatchOutput']
  return nativeProgram({ command: path.join(path.dirname(home), 'lib/tsc'), args, stopSignal: 'SIGTERM' })
}
