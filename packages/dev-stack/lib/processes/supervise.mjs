// Preloaded (`node --import`) into every Node process the launcher starts. The channel to the launcher breaks the moment
// the launcher is gone, even by kill -9; then this process stops itself as if it had been asked to.

const STOP_TIME_LIMIT_MS = 5_000

if (process.channel !== undefined) {
  process.once('disconnect', () => {
    setTimeout(() => process.exit(1), STOP_TIME_LIMIT_MS).unref()
    askToStop()
  })
  // The channel must not keep a command alive that has done its work.
  process.channel.unref()
  // Unless its work comes that way, as that of Jest's workers does, which inherit this.
  process.on('newListener', (event) => {
    if (event === 'message') process.channel?.ref()
  })
  process.on('removeListener', (event) => {
    if (event === 'message') process.channel?.unref()
  })
}

/** The launcher makes its children leaders of their group: then the group goes too, for example Jest's own children. */
function askToStop() {
  try {
    process.kill(-process.pid, 'SIGTERM')
  } catch {
    process.kill(process.pid, 'SIGTERM')
  }
}
