// Everything that the pictures show: the stack of npm start with the demo provider, the example login page, clients and files.
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { createStack } from '../system/stack.mjs'

const LOGIN_PAGE_PROGRAM = fileURLToPath(new URL('../../examples/login-page/login-page.mjs', import.meta.url))
const LOGIN_PAGE_LABEL = 'Example Login'
const WEB_REDIRECT = 'https://insights.example/oauth/callback'
const SUNNY_LOGO = fileURLToPath(new URL('sunny-prints.png', import.meta.url))
const PRINTS_REDIRECT = 'https://sunnyprints.example/callback'
const BOOKS_REDIRECT = 'https://photobooks.example/callback'
const APP_REDIRECT = 'com.example.pocket-album:/signed-in'
const LOCAL_REDIRECT = 'http://127.0.0.1:8976/callback'
/** The example of RFC 7636, appendix B. */
const PKCE = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }

export async function createWorld() {
  const files = makeFiles()
  const loginPage = prepareLoginPage()
  const stack = await createStack({
    files,
    demoProvider: true,
    environment: {
      DEVELOPER_APPS: 'approved',
      ACCESS_CHOICES: '1h,1d,30d,until_ended',
      ACCESS_CHOICE_DEFAULT: '30d',
      ...loginPage.settings
    }
  })
  let login

  return {
    valetkey: stack.valetkey,
    loginPageLabel: LOGIN_PAGE_LABEL,
    /** The only account of the example login page. */
    atLoginPage: { username: 'alice', password: 'only for this example' },
    async start() {
      const at = await stack.start()
      login = await loginPage.start(at.issuer)
      return { at, ask: await registerClients(stack, at.issuer) }
    },
    async dispose() {
      login?.kill()
      await stack.dispose()
      for (const directory of [files, loginPage.directory]) rmSync(directory, { recursive: true })
    }
  }
}

/** @returns the addresses of authorization requests */
async function registerClients({ valetkey }, issuer) {
  await valetkey([
    'scopes',
    'create',
    'reports.read',
    '--title',
    'See your reports',
    '--description',
    'Titles and figures of the reports in your account.',
    '--title-in',
    'de=Ihre Berichte sehen',
    '--description-in',
    'de=Titel und Zahlen der Berichte in Ihrem Konto.',
    '--title-in',
    'ar=رؤية تقاريرك',
    '--description-in',
    'ar=عناوين التقارير في حسابك وأرقامها.',
    '--self-service'
  ])
  await registerPhotos(valetkey)
  const requestOf = (client_id, redirect_uri, scope) => {
    const base = { response_type: 'code', client_id, redirect_uri, state: 'a-state', ...PKCE }
    return (change = {}) => `${issuer}/oauth/authorize?${new URLSearchParams({ ...base, scope, ...change })}`
  }
  const create = async (name, redirectUri, scope, options) => {
    const named = ['clients', 'create', '--name', name, '--redirect-uri', redirectUri]
    const { client_id } = await valetkey([...named, ...options])
    return requestOf(client_id, redirectUri, scope)
  }
  const kinds = 'files.read:documents files.read:images'
  return {
    web: await create('Quarterly Insights for Households', WEB_REDIRECT, `reports.read ${kinds}`, [
      '--scope',
      'reports.read',
      '--optional-scope',
      kinds,
      '--no-refresh',
      '--verified'
    ]),
    photos: await create('Photo Books', BOOKS_REDIRECT, 'photos.read photos.albums photos.places', [
      '--scope',
      'photos.read',
      '--optional-scope',
      'photos.albums photos.places',
      '--verified',
      '--no-refresh'
    ]),
    sunny: await create('Sunny Prints', PRINTS_REDIRECT, 'files.read:images files.read:documents files.read:media', [
      '--scope',
      'files.read:images',
      '--optional-scope',
      'files.read:documents files.read:media',
      '--publisher',
      'Sunny Prints GmbH',
      '--logo',
      SUNNY_LOGO,
      '--verified'
    ]),
    optional: await create('Slide Show', WEB_REDIRECT, kinds, ['--optional-scope', kinds]),
    faithful: await create('Family Calendar', WEB_REDIRECT, 'files.read:documents', [
      '--scope',
      'files.read:documents',
      '--optional-scope',
      'files.read:images',
      '--consent',
      'remember'
    ]),
    app: await create('Pocket Album', APP_REDIRECT, 'files.read:images', ['--scope', 'files.read:images', '--public']),
    draft: (clientId, redirectUri) => requestOf(clientId, redirectUri, 'reports.read')(),
    local: await create('Backup', LOCAL_REDIRECT, 'files.read', ['--scope', 'files.read', '--public'])
  }
}

/** An API on https, with scopes of its own. */
async function registerPhotos(valetkey) {
  const api = ['--name', 'photos', '--title', 'Photos', '--audience', 'https://photos.example']
  await valetkey(['resource-servers', 'create', ...api])
  const scopes = {
    'photos.read': {
      en: ['See your photos', 'The photos themselves, with title and date.'],
      de: ['Ihre Fotos sehen', 'Die Fotos selbst, mit Titel und Datum.'],
      ar: ['رؤية صورك', 'الصور نفسها مع عناوينها وتواريخها.']
    },
    'photos.albums': {
      en: ['See your albums', 'Names of your albums, and the photos in each.'],
      de: ['Ihre Alben sehen', 'Namen Ihrer Alben und die Fotos darin.'],
      ar: ['رؤية ألبوماتك', 'أسماء ألبوماتك والصور في كل منها.']
    },
    'photos.places': {
      en: ['See where photos were taken', 'The place of each photo, if it is known.'],
      de: ['Orte der Fotos sehen', 'Der Ort jedes Fotos, wenn er bekannt ist.'],
      ar: ['رؤية أماكن التقاط الصور', 'مكان كل صورة إن كان معروفًا.']
    }
  }
  for (const [name, { en, ...others }] of Object.entries(scopes)) {
    const translated = Object.entries(others).flatMap(([locale, [title, description]]) => [
      '--title-in',
      `${locale}=${title}`,
      '--description-in',
      `${locale}=${description}`
    ])
    const texts = ['--title', en[0], '--description', en[1], ...translated]
    await valetkey(['scopes', 'create', name, '--resource', 'photos', ...texts])
  }
}

function prepareLoginPage() {
  const port = 19_000 + Math.floor(Math.random() * 900)
  const issuer = `http://127.0.0.1:${port}`
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-login-page-'))
  const keyFile = path.join(directory, 'login.pem')
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  return {
    directory,
    settings: {
      LOGIN_HANDOFF_URL: `${issuer}/sign-in`,
      LOGIN_HANDOFF_ISSUER: issuer,
      LOGIN_HANDOFF_KEYS: JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] }),
      LOGIN_HANDOFF_LABEL: LOGIN_PAGE_LABEL
    },
    async start(valetkeyIssuer) {
      const env = { VALETKEY_ISSUER: valetkeyIssuer, LOGIN_ISSUER: issuer, LOGIN_PRIVATE_KEY_FILE: keyFile }
      const child = spawn(process.execPath, [LOGIN_PAGE_PROGRAM], { env: { ...env, PORT: String(port) } })
      await new Promise((resolve, reject) => {
        child.stdout.once('data', resolve)
        child.once('exit', (code) => reject(new Error(`the login page ended with ${code}`)))
      })
      return child
    }
  }
}

/** Sparse files with a size and a date. */
function makeFiles() {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-pictures-'))
  const samples = [
    ['Beach at low tide.jpg', 3_482_113, '2026-10-18T17:02:11Z'],
    ['Grandma at eighty.mp4', 218_440_902, '2026-10-04T19:47:00Z'],
    ['Invoice 2026-10.pdf', 48_213, '2026-10-31T08:15:42Z'],
    ['Lighthouse.png', 1_204_518, '2026-09-27T06:31:20Z'],
    ['Packing list.txt', 812, '2026-09-12T21:03:55Z'],
    ['Sailing, first try.jpg', 2_977_640, '2026-08-30T13:20:07Z'],
    ['Travel insurance.pdf', 96_004, '2026-08-02T10:44:31Z']
  ]
  for (const [name, size, modified] of samples) {
    const file = path.join(directory, name)
    writeFileSync(file, '')
    truncateSync(file, size)
    utimesSync(file, new Date(modified), new Date(modified))
  }
  return directory
}
