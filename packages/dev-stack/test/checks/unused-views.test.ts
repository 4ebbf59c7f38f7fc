import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { unusedViews } = await library('checks/unused-views')

const TEMPLATES = [
  { name: 'notes.hbs', text: '<ul>{{#each notes}}{{> note}}{{/each}}</ul>' },
  { name: 'operator/start-page.hbs', text: '' },
  { name: 'partials/note.hbs', text: '{{text}}' }
]
const SOURCES = ["reply.view('notes.hbs', { notes })", "new URL('../views/operator/start-page.hbs', import.meta.url)"]

test('views: nothing to report if a source renders each page, and a template includes each partial', () => {
  expect(unusedViews(TEMPLATES, SOURCES)).toEqual([])
})

test.each([
  { name: 'a page that no source renders', page: 'notes-old.hbs' },
  { name: 'a partial that only a source names', page: 'partials/start-page.hbs' }
])('views: $name is reported', ({ page }) => {
  expect(unusedViews([...TEMPLATES, { name: page, text: '' }], SOURCES)).toEqual([page])
})

test('views: a page that only a comment names is reported', () => {
  expect(unusedViews(TEMPLATES, ['/** Renders `notes.hbs`. */', SOURCES[1]])).toEqual(['notes.hbs'])
})
