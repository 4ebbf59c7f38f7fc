import { expect, test } from '@jest/globals'
import { describeApi } from '../../../src/platform/i18n/describe-api.js'

const APIS = [
  { audience: 'https://files.example:8443/v1', title: 'Files', titleIn: { de: 'Dateien' } },
  { audience: 'https://reports.example', title: undefined }
]

test.each([
  { name: 'with a title', audience: 'https://files.example:8443/v1', title: 'Files', host: 'files.example:8443' },
  { name: 'without a title', audience: 'https://reports.example', title: '', host: 'reports.example' },
  { name: 'that is not registered', audience: 'https://other.example', title: '', host: 'other.example' }
])('an API $name', ({ audience, title, host }) => {
  expect(describeApi(audience, APIS, { tag: 'fr' })).toEqual({ title, host })
})

test('the title of an API is that of the language of the page', () => {
  expect(describeApi('https://files.example:8443/v1', APIS, { tag: 'de' }).title).toBe('Dateien')
})
