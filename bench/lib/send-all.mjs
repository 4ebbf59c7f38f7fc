/** Sends `count` requests, `senders` at a time. `send` gets the number of each request. */
export async function sendAll(send, { count, senders }) {
  let next = 0
  const loops = Array.from({ length: senders }, async () => {
    while (next < count) await send(next++)
  })
  await Promise.all(loops)
}
