/** @returns what was answered; undefined when the answer fails, or takes longer than that many milliseconds */
export async function answerWithin<Answer>(
  milliseconds: number,
  question: () => Promise<Answer>
): Promise<Answer | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, milliseconds, undefined)
  })
  try {
    return await Promise.race([question(), limit])
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}
