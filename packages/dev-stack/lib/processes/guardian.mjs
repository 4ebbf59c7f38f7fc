// Runs a native program on a machine without setpriv (such as macOS), where the kernel cannot end it with its parent. This
// process ends the program when it receives a stop signal, or when the channel to the launcher closes for any reason.
// Usage: guardian.mjs SIGNAL COMMAND ARGUMENT…
import { spawn } from 'node:child_process'

// This is below the limit after which the launcher kills this process.
const STOP_TIME_LIMIT_MS = 4_000

const [stopSignal = '', command = '', ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ['inherit', 'inherit', 'inherit'] })

child.once('error', (error) => {
  console.error(error.message)
  process.exit(127)
})
child.once('exit', (code) => process.exit(code ?? 1))

for (const event of ['disconnect', 'SIGTERM', 'SIGINT', 'SIGHUP']) process.on(event, stop)

function stop() {
  child.kill(/** @type {NodeJS.Signals} */ (stopSignal))
  setTimeout(() => child.kill('SIGKILL'), STOP_TIME_LIMIT_MS).unref()
}
