import path from 'node:path'
import { expect, test } from '@jest/globals'
import { library } from './support/library.js'

const { parseStartOptions, UsageError } = await library('start/start-options')
const here = import.meta.dirname

test.each([
  { name: 'no arguments', args: [], options: { help: false, files: undefined, demoProvider: true } },
  { name: 'help', args: ['--help'], options: { help: true, files: undefined, demoProvider: true } },
  {
    name: 'no demo provider',
    args: ['--no-demo-provider'],
    options: { help: false, files: undefined, demoProvider: false }
  },
  { name: 'an absolute directory', args: ['--files', here], options: { help: false, files: here, demoProvider: true } },
  {
    name: 'a directory relative to the caller’s directory',
    args: [`--files=${path.basename(here)}`],
    options: { help: false, files: here, demoProvider: true }
  }
])('npm start accepts $name', ({ args, options }) => {
  expect(parseStartOptions(args, path.dirname(here))).toEqual(options)
})

test.each([
  { name: 'an unknown option', args: ['--fles', '.'] },
  { name: 'an argument without an option', args: ['here'] },
  { name: '--files without a directory', args: ['--files'] },
  { name: 'a directory that does not exist', args: ['--files', '/not/there'] },
  { name: 'a file instead of a directory', args: ['--files', import.meta.filename] }
])('npm start refuses $name with one line', ({ args }) => {
  let refusal: unknown
  try {
    parseStartOptions(args, here)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(UsageError)
  expect(String(refusal)).not.toContain('\n')
})
