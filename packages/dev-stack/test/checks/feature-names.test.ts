import { expect, test } from '@jest/globals'
import { library } from '../support/library.js'

const { foreignNames, unknownNames } = await library('checks/feature-names')

const NAMES = {
  notes: { views: ['account-notes'], messages: ['notes'], migrations: ['create_notes'] },
  apps: { views: ['account-apps'], messages: ['apps', 'login.app'] },
  'app-notes': { views: ['account-apps-notes'] }
}
const PRESENT = {
  features: ['notes', 'apps', 'app-notes'],
  views: ['login', 'account-notes', 'account-apps', 'account-apps-notes'],
  messages: ['login.title', 'login.app', 'notes.title', 'apps.title'],
  migrations: ['create_users', 'create_notes']
}

test('names of features: nothing to report if every start of a name has its file', () => {
  expect(unknownNames(PRESENT, NAMES)).toEqual([])
})

test.each([
  {
    name: 'a folder without names',
    change: { features: ['notes', 'apps', 'app-notes', 'new'] },
    problem: /new: no names.json/
  },
  { name: 'a view that is missing', change: { views: ['account-apps-notes'] }, problem: /notes: none of the views/ },
  {
    name: 'messages that are missing',
    change: { messages: ['apps.title', 'login.app', 'notes2.title'] },
    problem: /"notes"$/
  },
  { name: 'a migration that is missing', change: { migrations: [] }, problem: /"create_notes"$/ }
])('names of features: $name is reported', ({ change, problem }) => {
  expect(unknownNames({ ...PRESENT, ...change }, NAMES)).toEqual([expect.stringMatching(problem)])
})

test.each([
  {
    name: 'a kind that does not exist',
    names: { view: ['account-notes'] },
    problem: 'features/new: names.json has the unknown kind "view"'
  },
  {
    name: 'a name of another feature',
    names: { views: ['account-notes'] },
    problem: 'features/new: another feature has the views "account-notes", too'
  }
])('names of features: $name is reported', ({ names, problem }) => {
  const present = { ...PRESENT, features: [...PRESENT.features, 'new'] }
  expect(unknownNames(present, { ...NAMES, new: names })).toEqual([problem])
})

test.each([
  { name: 'its own view and message', text: "reply.view('account-notes.hbs', { title: 'notes.title' })" },
  { name: 'a message of the core', text: "reply.view('account-notes.hbs', { title: 'login.title' })" }
])('names of features: a source that uses $name is accepted', ({ text }) => {
  expect(foreignNames('notes', text, NAMES)).toEqual([])
})

test.each([
  {
    name: 'a view of the core',
    text: "reply.view('login.hbs')",
    problem: 'renders login.hbs, which has no name of apps'
  },
  {
    name: 'a view of another feature with a longer name',
    text: "reply.view('account-apps-notes.hbs')",
    problem: /renders/
  },
  { name: 'a message of another feature', text: "{ message: 'notes.title' }", problem: /"notes.title" of notes$/ }
])('names of features: a source that uses $name is reported', ({ text, problem }) => {
  expect(foreignNames('apps', text, NAMES)).toEqual([expect.stringMatching(problem)])
})

test('names of features: a message with a longer start in the names of another feature is reported', () => {
  const problem = 'uses the message "login.app" of apps'
  expect(foreignNames('notes', "{ message: 'login.app' }", NAMES)).toEqual([problem])
})
