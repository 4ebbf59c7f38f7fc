// One page with all pictures: a row for each page, and in it every language and look.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileName } from './camera.mjs'

export function writeContactSheet({ out, names, locales, looks }) {
  const rows = names.map((name) => {
    const pictures = locales.flatMap((locale) => looks.map((look) => picture(name, locale, look)))
    return `<h2>${name}</h2>\n<div>${pictures.join('\n')}</div>`
  })
  const file = path.join(out, 'index.html')
  writeFileSync(file, `${HEAD}${rows.join('\n')}\n`)
  return file
}

/** Pages without a translation have no picture in other languages, and the look for README.md exists once. */
const picture = (name, locale, look) =>
  `<a href="${fileName(name, locale, look)}"><img src="${fileName(name, locale, look)}" alt="" loading="lazy"></a>`

const HEAD = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Pages of Valetkey</title>
<style>
body { margin: 1.5rem; background: #888; font: 1rem system-ui, sans-serif; }
div { display: flex; gap: 0.75rem; overflow-x: auto; align-items: start; }
img { block-size: 26rem; }
</style>
`
