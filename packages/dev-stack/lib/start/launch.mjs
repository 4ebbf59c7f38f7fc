// npm start and npm run dev: starts all processes of a checkout and stops them in order.
import { dataFiles, displayPath, makeDataDirectory } from '../checkout.mjs'
import { messageOf } from '../error-code.mjs'
import { createProcesses } from '../processes/processes.mjs'
import { createProgress } from '../processes/progress.mjs'
import { claimRunFile, releaseRunFile } from '../processes/run-file.mjs'
import { onStopRequest } from '../processes/stop-requests.mjs'
import { describeEnd } from './readiness.mjs'
import { readCaller, readSettings } from './settings.mjs'
import { startStack } from './stack.mjs'
import { parseStartOptions, startHelp, UsageError } from './start-options.mjs'
import { welcome } from './welcome.mjs'

/** @import { Handle } from '../processes/processes.mjs' */
/** @import { Running } from './restart-on-change.mjs' */

/**
 * `develop` receives the running stack. With it, a service that ends by itself does not stop the rest.
 * @param {readonly string[]} args
 * @param {{ develop?: (running: Running) => void }} [options]
 */
export async function launch(args, { develop } = {}) {
  const progress = createProgress()
  const processes = createProcesses()
  const data = dataFiles(process.env)
  let claimed = false

  /** @param {number} code */
  async function finish(code) {
    await processes.stopAll()
    if (claimed) releaseRunFile(data.run)
    process.exit(code)
  }

  /** @param {unknown} error */
  function fail(error) {
    if (processes.isStopping()) return
    console.error(messageOf(error))
    finish(error instanceof UsageError ? 2 : 1)
  }

  /**
   * Every process is needed: when one ends, the rest is stopped.
   * @param {Handle} handle
   */
  function onStarted(handle) {
    handle.exited.then((end) => {
      if (handle.ordered || processes.isStopping()) return
      if (develop !== undefined && handle.restartable) progress.say(describeEnd(handle, end))
      else fail(new Error(describeEnd(handle, end)))
    })
  }

  try {
    const options = parseStartOptions(args, process.env.INIT_CWD ?? process.cwd())
    if (options.help) {
      console.log(startHelp)
      return
    }
    const caller = readCaller(process.env)
    const settings = readSettings(caller, options)
    makeDataDirectory(data)
    const holder = claimRunFile(data.run)
    if (holder !== undefined) {
      throw new Error(
        `Valetkey is already running in this checkout (process ${holder}, data in ${displayPath(data.directory)}).`
      )
    }
    claimed = true
    onStopRequest({
      onStop: () => {
        progress.say('\nStopping …')
        finish(0)
      },
      onForce: () => {
        processes.killAll()
        releaseRunFile(data.run)
        process.exit(1)
      }
    })
    const stack = await startStack({ ...options, caller, settings, data, processes, progress, onStarted })
    progress.say(welcome({ settings, user: stack.user, data }))
    develop?.({ ...stack, processes, progress, onStarted })
  } catch (error) {
    fail(error)
  }
}
