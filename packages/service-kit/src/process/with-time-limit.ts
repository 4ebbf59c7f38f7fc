/**
 * Waits for a task, but no longer than a time limit. A task that is too late continues in the background.
 * @param onTimeout gives the result for a task that is too late, or throws
 * @returns the result of the task, or of `onTimeout`
 */
export async function withTimeLimit<Result, Late>(
  milliseconds: number,
  task: Promise<Result>,
  onTimeout: () => Late
): Promise<Result | Late> {
  let timer: NodeJS.Timeout | undefined
  const timeLimit = new Promise<Late>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(onTimeout())
      } catch (error) {
        reject(error)
      }
    }, milliseconds)
  })
  try {
    return await Promise.race([task, timeLimit])
  } finally {
    clearTimeout(timer)
  }
}
