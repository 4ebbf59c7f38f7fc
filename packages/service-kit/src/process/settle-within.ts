/** Waits until all tasks are settled, but no longer than the limit. */
export async function settleWithin(milliseconds: number, tasks: readonly Promise<unknown>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeLimit = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([Promise.allSettled(tasks), timeLimit])
  clearTimeout(timer)
}
