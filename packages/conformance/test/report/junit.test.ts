import { expect, test } from '@jest/globals'
import { toJunit } from '../../src/report/junit.js'
import { exampleReport } from '../support/example-report.js'

const xml = toJunit(exampleReport)

test('JUnit counts failures, errors and what was skipped', () => {
  expect(xml).toContain('tests="6" failures="2" errors="1" skipped="2"')
  expect(xml.match(/<testcase /g)).toHaveLength(6)
  expect(xml.match(/<(failure|error|skipped) /g)).toEqual([
    '<failure ',
    '<skipped ',
    '<failure ',
    '<skipped ',
    '<error '
  ])
})

test('JUnit is well-formed with any text', () => {
  const texts = xml.replaceAll(/<\/?[a-z?][^<>]*>/g, '')
  expect(texts).not.toMatch(/[<>]/)
  expect(xml).not.toContain('\u0001')
  expect(xml.replaceAll(/&(amp|lt|gt|quot);/g, '')).not.toContain('&')
})
