import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { FEATURES } from '../../../../src/features.js'
import { wire } from '../../../../src/wire/wire.js'
import { startTestServer, type TestServer } from '../../../support/authorization-server.js'
import { runDoctor } from '../../../support/doctor.js'

const DOCUMENT = path.resolve(import.meta.dirname, '../../../../../../docs/own-pages.md')

/** That of docs/own-pages.md. */
const EXAMPLE = /```handlebars\n([\s\S]*?)```/.exec(readFileSync(DOCUMENT, 'utf8'))?.[1] ?? ''
const GOOD = { 'error.hbs': EXAMPLE, 'style.css': '.own { color: navy }' }

const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-own-pages-'))
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ PAGES_DIR: pages('good', GOOD), ACCENT_COLOR: '#14614a' })
})
afterAll(async () => {
  await server.close()
  rmSync(directory, { recursive: true })
})

function pages(name: string, files: Readonly<Record<string, string>>): string {
  const folder = path.join(directory, name)
  mkdirSync(path.join(folder, 'partials'), { recursive: true })
  for (const [file, content] of Object.entries(files)) writeFileSync(path.join(folder, file), content)
  return folder
}

const PAGE = { url: '/nothing-here', headers: { accept: 'text/html' } }

test('PAGES_DIR: the own page and stylesheet are sent, and changed files only after the next start', async () => {
  const page = await server.publicServer.inject(PAGE)
  expect([page.statusCode, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
  expect(page.body).toContain('Questions? Call 555-0100 and name <code>')
  expect(page.body).toMatch(/<html lang="en"[\s\S]*<\/html>/)
  const { body } = await server.publicServer.inject('/assets/style.css')
  expect(body).toMatch(/^\.own \{ color: navy \}[\s\S]*--accent/)
  writeFileSync(path.join(directory, 'good', 'error.hbs'), '<h1>changed</h1>')
  expect((await server.publicServer.inject(PAGE)).body).toContain('Call 555-0100')
})

test('PAGES_DIR: the overview names the own pages, and keeps the built-in stylesheet', async () => {
  expect((await server.operatorServer.inject('/')).body).toContain('replaces error.hbs, style.css')
  expect((await server.operatorServer.inject('/assets/style.css')).body).toContain('.overview')
})

test('PAGES_DIR: a page without a required field stops the start, and doctor says the same', async () => {
  const folder = pages('bad', {
    'account-password.hbs': '<form method="post" action="{{action}}"></form>',
    'partials/tick.hbs': '{{#if}}'
  })
  const start = () =>
    wire({ ...server.config, pagesDir: folder }, server.database, server.redis, { features: FEATURES })
  expect(start).toThrow(/PAGES_DIR: partials\/tick\.hbs: Parse error/)
  writeFileSync(path.join(folder, 'partials/tick.hbs'), '<span>+</span>')
  expect(start).toThrow(/PAGES_DIR: account-password\.hbs: lacks <input type="hidden" name="csrf_token"/)
  const { code, document } = await runDoctor({
    ISSUER: 'http://localhost:4000',
    RESOURCE_URL: 'http://localhost:4100',
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    REDIS_URL: 'redis://127.0.0.1:1',
    COOKIE_KEYS: 'a-key-for-tests-of-at-least-32-characters',
    PAGES_DIR: folder
  })
  expect(code).not.toBe(0)
  expect(document.findings).toContainEqual(
    expect.objectContaining({
      check: 'PAGES_DIR',
      severity: 'fatal',
      what: expect.stringMatching(/^account-password.hbs: lacks/)
    })
  )
})
