import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, expect, test } from '@jest/globals'
import { ConfigurationError } from '@valetkey/service-kit'
import { ownPages as feature } from '../../../src/features/own-pages/own-pages-feature.js'
import { readPageFiles as readPages } from '../../../src/http/page-files.js'
import { readBuiltInTemplates, VIEWS } from '../../../src/http/templates.js'

const directories: string[] = []
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
})

const builtIn = readBuiltInTemplates()
const readPageFiles = (directory: string) => readPages(directory, [feature])
const source = (name: string): string => builtIn.get(name) ?? ''

function ownPages(files: Readonly<Record<string, string | Buffer>>): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-own-pages-'))
  directories.push(directory)
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(directory, name)), { recursive: true })
    writeFileSync(path.join(directory, name), content)
  }
  return directory
}

function problemsOf(files: Readonly<Record<string, string | Buffer>>): readonly string[] {
  try {
    readPageFiles(ownPages(files))
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
}

test('own copies of all built-in templates and of the stylesheet are accepted without a warning', () => {
  const directory = ownPages({})
  for (const name of readdirSync(VIEWS).filter((each) => /\.hbs$|^style\.css$|^partials$/.test(each))) {
    cpSync(path.join(VIEWS, name), path.join(directory, name), { recursive: true })
  }
  const { own, warnings } = readPageFiles(directory)
  expect(own.toSorted()).toEqual([...builtIn.keys(), 'style.css'].toSorted())
  expect(warnings).toEqual([])
})

test('one template replaces the built-in one of that name, and no other', () => {
  const own = '<h1>{{t title}}</h1>\n<p>Call us: 555-0100</p>\n'
  const { templates, stylesheet } = readPageFiles(ownPages({ 'error.hbs': own, 'style.css': 'body { color: navy }' }))
  expect(templates.get('error.hbs')).toBe(own)
  expect(templates.get('login.hbs')).toBe(source('login.hbs'))
  expect(stylesheet).toBe('body { color: navy }')
})

test('a byte order mark is no part of a page', () => {
  expect(readPageFiles(ownPages({ 'error.hbs': '\uFEFF<h1>Error</h1>' })).templates.get('error.hbs')).toBe(
    '<h1>Error</h1>'
  )
})

test('hidden files, as Kubernetes makes them beside a mount, are left out', () => {
  expect(readPageFiles(ownPages({ '..2026_11_23/error.hbs': 'x', '.gitkeep': '' })).own).toEqual([])
})

test.each([
  { name: 'an unknown file', files: { 'signin.hbs': 'x' }, problem: /^PAGES_DIR: signin\.hbs: there is no such page/ },
  { name: 'an unknown partial', files: { 'partials/menu.hbs': 'x' }, problem: /partials\/menu\.hbs: there is no such/ },
  { name: 'the page of operators', files: { 'operator/start-page.hbs': 'x' }, problem: /operator: there is no such/ },
  { name: 'a script', files: { 'show-password.js': 'x' }, problem: /show-password\.js: there is no such page/ },
  { name: 'a large file', files: { 'error.hbs': 'x'.repeat(300_000) }, problem: /error\.hbs: is larger than 256 KiB/ },
  { name: 'other bytes than UTF-8', files: { 'error.hbs': Buffer.from([0xff]) }, problem: /error\.hbs: is not UTF-8/ },
  { name: 'a directory in place of a file', files: { 'error.hbs/x': '' }, problem: /error\.hbs: cannot be read/ },
  {
    name: 'a mistake in the syntax',
    files: { 'error.hbs': '{{#if x}}' },
    problem: /error\.hbs: Parse error on line 1/
  },
  { name: 'a value without quotes', files: { 'error.hbs': '<a href={{retryUrl}}>' }, problem: /must be in quotes/ },
  { name: 'a layout without a body', files: { 'layout.hbs': '<main></main>' }, problem: /layout\.hbs: must contain/ },
  { name: 'a body elsewhere', files: { 'error.hbs': '{{{body}}}' }, problem: /error\.hbs: only layout\.hbs may/ }
])('$name is refused', ({ files, problem }) => {
  expect(problemsOf(files as unknown as Record<string, string>)).toEqual([expect.stringMatching(problem)])
})

test('every mistake is named, in every file', () => {
  const problems = problemsOf({ 'signin.hbs': 'x', 'error.hbs': '{{#if x}}', 'layout.hbs': '' })
  expect(problems.map((problem) => problem.split(': ')[1])).toEqual(['signin.hbs', 'error.hbs', 'layout.hbs'])
})

test('a directory that does not exist is refused', () => {
  expect(() => readPageFiles('/nowhere/pages')).toThrow('PAGES_DIR: the directory /nowhere/pages cannot be read')
})

test.each([
  ['<script>x()</script>', 'an inline script'],
  ['<style>p{}</style>', 'an inline stylesheet'],
  ['<p style="color: red">', 'a style attribute'],
  ['<p onclick="x()">', 'a script in an attribute'],
  ['<a href="javascript:x()">', 'a javascript: address'],
  ['<img src="https://cdn.example/a.png" alt="">', 'a file of another site']
])('%s is accepted with a warning', (html, warning) => {
  expect(readPageFiles(ownPages({ 'error.hbs': html })).warnings).toEqual([`error.hbs: ${warning}`])
})

test('a font of another site is accepted with a warning; a link to another site without one', () => {
  const css = '@font-face { src: url(https://cdn.example/a.woff2) }'
  const files = ownPages({ 'style.css': css, 'error.hbs': '<a href="https://help.example/">Help</a>' })
  expect(readPageFiles(files).warnings).toEqual(['style.css: a font, an image or a stylesheet of another site'])
})
