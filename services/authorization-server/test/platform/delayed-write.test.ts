import { expect, test } from '@jest/globals'
import { createDelayedWrite } from '../../src/platform/delayed-write.js'

const DELAY_MS = 60_000

test('a second close waits for the write of the first one', async () => {
  let finish = () => {}
  const written: string[] = []
  let rows = ['row']
  const background = createDelayedWrite(async () => {
    const batch = rows
    rows = []
    if (batch.length === 0) return
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    written.push(...batch)
  }, DELAY_MS)
  const first = background.close()
  const second = background.close().then(() => [...written])
  await Promise.resolve()
  finish()
  expect(await second).toEqual(['row'])
  await first
})
