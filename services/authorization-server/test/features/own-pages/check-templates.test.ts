import { expect, test } from '@jest/globals'
import { checkTemplates } from '../../../src/features/own-pages/check-templates.js'
import { readBuiltInTemplates } from '../../../src/http/templates.js'
import { DEFAULT_LANGUAGE, type Language, loadLanguages } from '../../../src/platform/i18n/language.js'

const builtIn = readBuiltInTemplates()
const english = loadLanguages().get(DEFAULT_LANGUAGE) as Language

const check = (own: Readonly<Record<string, string>>, original = builtIn) =>
  checkTemplates(original, new Map(Object.entries(own)), english)

/** A small site, so that a test shows both templates. */
const small = (page: string, others: Readonly<Record<string, string>> = {}) =>
  new Map(Object.entries({ 'layout.hbs': '{{{body}}}', 'page.hbs': page, ...others }))

const INPUTS = [...builtIn].flatMap(([name, source]) =>
  [...source.matchAll(/<(?:input|button|select|textarea)\b[^>]*\sname="([^"]*)"/g)].map(([, field = '']) => ({
    name,
    field
  }))
)

test.each(INPUTS)('$name without the field $field is refused', ({ name, field }) => {
  const own = (builtIn.get(name) ?? '').replaceAll(` name="${field}"`, ' name="another"')
  expect(check({ [name]: own }).join('\n')).toMatch(/ lacks <(input|button|select|textarea)/)
})

test.each([...builtIn].filter(([, source]) => source.includes('<form ')).map(([name]) => name))(
  '%s with forms to another address is refused',
  (name) => {
    const own = (builtIn.get(name) ?? '').replaceAll(/ action="[^"]*"/g, ' action="/elsewhere"')
    expect(check({ [name]: own }).join('\n')).toMatch(/ lacks <form method="post" action="\{\{/)
  }
)

test.each([
  {
    name: 'another order and other words',
    own: '<form action="{{url}}" method="post"><button>Go</button><input value="{{token}}" name="csrf_token" type="hidden"></form>'
  },
  {
    name: 'a field outside of its form',
    own: '<form id="f" method="post" action="{{url}}"></form><input form="f" type="hidden" name="csrf_token" value="{{token}}"><button form="f">Go</button>'
  }
])('$name are accepted', ({ own }) => {
  expect(check({ 'page.hbs': own }, small(FORM))).toEqual([])
})

const FORM =
  '<form method="post" action="{{url}}"><input type="hidden" name="csrf_token" value="{{token}}"><button type="submit">Send</button></form>'

test.each([
  {
    name: 'a field in a comment',
    own: FORM.replace(/<input[^>]*>/, '<!-- $& -->'),
    lacks: '<input type="hidden" name="csrf_token"'
  },
  {
    name: 'another value',
    own: FORM.replace('{{token}}', '{{url}}'),
    lacks: '<input type="hidden" name="csrf_token" value="{{token}}">'
  },
  { name: 'no button', own: FORM.replace(/<button.*button>/, ''), lacks: '<button type="submit">' },
  { name: 'a form by GET', own: FORM.replace('post', 'get'), lacks: '<form method="post"' }
])('$name is refused', ({ own, lacks }) => {
  expect(check({ 'page.hbs': own }, small(FORM)).join('\n')).toContain(`page.hbs: lacks ${lacks}`)
})

test('a field that the built-in page has in one state only is required in that state', () => {
  const page = '<form>{{#each items}}{{#if a}}{{#unless b}}<input name="rare">{{/unless}}{{/if}}{{/each}}</form>'
  expect(check({ 'page.hbs': page.replace('<input name="rare">', '') }, small(page))).toEqual([
    'page.hbs: lacks <input name="rare"> in <form> when items[].b is empty'
  ])
})

test('a name that the built-in page reads under a condition must be read under it', () => {
  const page = '{{#if shown}}{{name}}{{/if}}'
  expect(check({ 'page.hbs': '{{name}}' }, small(page)).join('\n')).toContain('cannot be rendered: "name" is not there')
  expect(check({ 'page.hbs': '{{#if shown}}<b>{{name}}</b>{{/if}}' }, small(page))).toEqual([])
})

test.each([
  { own: '{{usrename}}', problem: 'page.hbs: line 1: the page has no usrename; it has items, items[].name, username' },
  { own: '{{#each items}}{{username}}{{/each}}', problem: 'the page has no items[].username' },
  { own: '{{{username}}}', problem: '{{{username}}} inserts text without escaping it' },
  { own: '{{&username}}', problem: 'inserts text without escaping it' },
  { own: '{{> menu}}', problem: 'there is no partial menu' },
  { own: '{{> (lookup . "x")}}', problem: 'there is no partial with a computed name' },
  { own: '{{shout username}}', problem: 'there is no helper shout' },
  { own: '{{#with items}}{{/with}}', problem: '{{#with}} cannot be used' },
  { own: '{{#each items as |item|}}{{/each}}', problem: '{{#each}} cannot be used' },
  { own: '{{t "no.such.text"}}', problem: 'the language en has no text for no.such.text' },
  { own: '{{t "consent.lead"}}', problem: 'line 1: ' },
  { own: '{{#> layout}}{{/layout}}', problem: 'partial blocks cannot be used' }
])('$own is refused with the line', ({ own, problem }) => {
  const problems = check({ 'page.hbs': own }, small('{{username}}{{#each items}}{{name}}{{/each}}'))
  expect(problems.join('\n')).toContain(problem)
})

test('a partial that includes itself is refused', () => {
  const site = small('{{> a}}', { 'partials/a.hbs': 'x' })
  expect(check({ 'partials/a.hbs': '{{> a}}' }, site)).toEqual([
    'partials/a.hbs: line 1: the partial a includes itself'
  ])
})

test('a replaced partial is checked in each page that includes it, and a replaced layout in all', () => {
  expect(check({ 'partials/login-form.hbs': '' }).join('\n')).toContain(
    'partials/login-form.hbs: lacks <form method="post"'
  )
  const layout = (builtIn.get('layout.hbs') ?? '').replace(/<link rel="stylesheet"[^>]*>/, '')
  expect(check({ 'layout.hbs': layout })).toEqual(['layout.hbs: lacks <link rel="stylesheet" href="{{stylesheet}}">'])
})

test('the consent page must show every value that the user decides by', () => {
  const own = (builtIn.get('consent.hbs') ?? '').replaceAll('{{t "consent.account" username=username}}', '')
  expect(check({ 'consent.hbs': own }).join('\n')).toContain('consent.hbs: does not show {{username}}')
})
