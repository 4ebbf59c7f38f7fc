/** Waits until all have ended, well or not, but no longer than that. */
export async function settleWithin(milliseconds: number, tasks: readonly Promise<unknown>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeLimit = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([Promise.allSettled(tasks), timeLimit])
  clearTimeout(timer)
}
