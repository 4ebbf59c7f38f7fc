// npm run dev: the compiler writes dist on every save, and the services start again on every change of what they run.
import { existsSync, realpathSync, watch } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { checkout } from '../checkout.mjs'
import { nativeProgram } from '../processes/programs.mjs'

// One save changes several files, and the compiler works through the packages one after the other.
const SETTLE_MS = 300

const watchedFolders = [
  ...['services/authorization-server', 'services/resource-server', 'examples/demo-client'],
  ...['packages/oauth-protocol', 'packages/fastify-bearer', 'packages/service-kit']
].flatMap((folder) => ['dist', 'views', 'assets'].map((part) => path.join(checkout, folder, part)))

/** Keeps the compiler and the services going until the launcher stops. */
export function restartOnChange({ services, startServices, processes, progress, onStarted }) {
  let timer
  let restarting = Promise.resolve()

  async function restart() {
    await Promise.all(services.splice(0).map((service) => service.stop()))
    try {
      await progress.step('Services restarted', () => startServices(services))
      for (const service of services) onStarted(service)
    } catch (error) {
      // Broken code is what one has while writing: it is shown, and the next save is the next try.
      if (!processes.isStopping()) progress.say(error.message)
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

/** The compiler itself: its Node wrapper only waits for it, deaf to the end of the launcher. */
function watchingCompiler() {
  const typescript = createRequire(realpathSync(path.join(checkout, 'node_modules/typescript/package.json')))
  const home = typescript.resolve(`@typescript/typescript-${process.platform}-${process.arch}/package.json`)
  const args = ['-b', '--watch', '--preserveWatchOutput']
  return nativeProgram({ command: path.join(path.dirname(home), 'lib/tsc'), args, stopSignal: 'SIGTERM' })
}
