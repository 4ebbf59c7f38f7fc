import path from 'node:path'
import { expect, test } from '@jest/globals'
import { library } from './support/library.js'

const { parseStartOptions, UsageError } = await library('start/start-options')
const here = import.meta.dirname

test.each([
  { name: 'nothing', args: [], options: { help: false, files: undefined, demoProvider: true } },
  { name: 'help', args: ['--help'], options: { help: true, files: undefined, demoProvider: true } },
  {
    name: 'no demo provider',
    args: ['--no-demo-provider'],
    options: { help: false, files: undefined, demoProvider: false }
  },
  { name: 'an absolute directory', args: ['--files', here], options: { help: false, files: here, demoProvider: true } },
  {
    name: 'a directory relative to where the person stood',
    args: [`--files=${path.basename(here)}`],
    options: { help: false, files: here, demoProvider: true }
  }
])('npm start takes $name', ({ args, options }) => {
  expect(parseStartOptions(args, path.dirname(here))).toEqual(options)
})

test.each([
  { name: 'an unknown option', args: ['--fles', '.'] },
  { name: 'an argument that belongs to no option', args: ['here'] },
  { name: '--files without a directory', args: ['--files'] },
  { name: 'a directory that is not there', args: ['--files', '/not/there'] },
  { name: 'a file in place of a directory', args: ['--files', import.meta.filename] }
])('npm start refuses $name in one line', ({ args }) => {
  let refusal: unknown
  try {
    parseStartOptions(args, here)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(UsageError)
  expect(String(refusal)).not.toContain('\n')
})
