/** Sends requests with `senders` concurrent loops until stopped. */
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
    /** @returns the number of responses */
    async stop() {
      going = false
      await Promise.all(loops)
      return done
    }
  }
}
