/** Sends one request after the other, `senders` at a time, until it is told to stop. */
export function keepSending(send, senders) {
  let going = true
  let done = 0
  const loops = Array.from({ length: senders }, async () => {
    while (going) {
      await send()
      done++
    }
  })
  return {
    /** @returns how many were answered */
    async stop() {
      going = false
      await Promise.all(loops)
      return done
    }
  }
}
