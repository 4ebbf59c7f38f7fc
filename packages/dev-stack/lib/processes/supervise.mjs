// Preloaded (`node --import`) into every Node process that the launcher starts. The channel to the launcher closes when the
// launcher ends, even by kill -9. Then this process stops as if it had received its stop signal.

const STOP_TIME_LIMIT_MS = 5_000

if (process.channel !== undefined) {
  process.once('disconnect', () => {
    setTimeout(() => process.exit(1), STOP_TIME_LIMIT_MS).unref()
    askToStop()
  })
  // The channel must not keep a finished command running.
  process.channel.unref()
  // Jest's workers inherit this option and receive their tests over the channel, so for them it must keep the process running.
  process.on('newListener', (event) => {
    if (event === 'message') process.channel?.ref()
  })
  process.on('removeListener', (event) => {
    if (event === 'message') process.channel?.unref()
  })
}

/** The launcher makes its children leaders of a process group. Then the whole group is ended, such as the workers of Jest. */
function askToStop() {
  try {
    process.kill(-process.pid, 'SIGTERM')
  } catch {
    process.kill(process.pid, 'SIGTERM')
  }
}
