import { expect, test } from '@jest/globals'
import { evaluatePages } from '../../../src/features/own-pages/evaluate-pages.js'

test.each([
  { name: 'no directory', directory: undefined, own: [], warnings: [], finding: { severity: 'ok', what: /not set/ } },
  {
    name: 'own pages',
    directory: '/p',
    own: ['error.hbs'],
    warnings: [],
    finding: { severity: 'ok', what: /replaces error.hbs$/ }
  },
  {
    name: 'an empty directory',
    directory: '/p',
    own: [],
    warnings: [],
    finding: { severity: 'warning', what: /no files/ }
  },
  {
    name: 'blocked parts',
    directory: '/p',
    own: ['error.hbs'],
    warnings: ['error.hbs: an inline script'],
    finding: { severity: 'warning', what: /blocked parts: error.hbs: an inline script/ }
  }
])('PAGES_DIR: $name is reported', ({ directory, own, warnings, finding: { severity, what } }) => {
  expect(evaluatePages(directory, { own, warnings })).toMatchObject({
    check: 'PAGES_DIR',
    severity,
    what: expect.stringMatching(what)
  })
})
