import { afterAll, beforeAll } from '@jest/globals'
import { makeKnownFiles } from '../support/known-files.js'
import { type Addresses, createStack, type Stack } from '../system/stack.mjs'

/**
 * One stack for all subjects of a test file. A subject creates the users and apps whose state it checks, so that the order of
 * the subjects does not matter.
 */
export type StackWorld = {
  /** The folder with the known files, which belong to the user in `at`. */
  files: string
  stack: Stack
  at: Addresses
}

/** Starts a stack before the tests of a file, and ends it after them. `stack` and `at` are defined while tests and hooks run. */
export function useStack(environment: Record<string, string> = {}): StackWorld {
  const files = makeKnownFiles()
  const world = { files: files.directory } as StackWorld
  beforeAll(async () => {
    world.stack = await createStack({ files: files.directory, environment })
    world.at = await world.stack.start()
  })
  afterAll(async () => {
    await world.stack?.dispose()
    files.remove()
  })
  return world
}
