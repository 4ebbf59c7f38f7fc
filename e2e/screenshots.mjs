// npm run screenshots -- --out DIR: takes pictures of every page in every language, for phone and desktop, in light and dark
// colours; index.html shows all of them. With --readme, writes the picture of README.md.
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { findChromium } from '../packages/dev-stack/lib/tests/test-environment.mjs'
import { createCamera, fileName, LOOKS, README_LOOK } from './screenshots/camera.mjs'
import { writeContactSheet } from './screenshots/contact-sheet.mjs'
import { walkDeveloper } from './screenshots/walk-developer.mjs'
import { walkAccount, walkDemo, walkDevices, walkErrors, walkForeign, walkOperator } from './screenshots/walks.mjs'
import { createWorld } from './screenshots/world.mjs'

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'e2e/artifacts/screenshots' },
    readme: { type: 'boolean', default: false }
  }
})
const out = path.resolve(process.env.INIT_CWD ?? '.', values.out)
const executablePath = findChromium(process.env)
if (executablePath === undefined) {
  console.error('This needs Chromium: install it, or name it in CHROMIUM.')
  process.exit(1)
}
mkdirSync(out, { recursive: true })

const messages = new URL('../services/authorization-server/messages/', import.meta.url)
const locales = readdirSync(messages).map((name) => path.basename(name, '.json'))
const world = await createWorld()
const browser = await chromium.launch({ executablePath })
const names = new Set()
try {
  const started = { ...world, ...(await world.start()) }
  for (const locale of locales) {
    for (const walk of [walkErrors, walkDemo, walkForeign, walkAccount, walkDeveloper, walkDevices])
      await photograph(walk, locale, started)
  }
  await photograph(walkOperator, 'en', started)
  if (values.readme) await renewReadme(started)
} finally {
  await browser.close()
  await world.dispose()
}
console.log(writeContactSheet({ out, names: [...names], locales, looks: LOOKS }))

async function photograph(walk, locale, started, looks = LOOKS) {
  const camera = await createCamera({ browser, locale, out, looks })
  try {
    await walk(camera, started)
  } catch (error) {
    throw new Error(`${walk.name}, ${locale}, at ${camera.page.url()}`, { cause: error })
  }
  for (const name of camera.taken) names.add(name)
  await camera.close()
}

async function renewReadme(started) {
  await photograph(walkDemo, 'en', started, [README_LOOK])
  const images = fileURLToPath(new URL('../docs/images/', import.meta.url))
  copyFileSync(path.join(out, fileName('consent-with-logo', 'en', README_LOOK)), path.join(images, 'consent.png'))
}
