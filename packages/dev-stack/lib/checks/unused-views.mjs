/**
 * @param {readonly { name: string, text: string }[]} templates by their path below `views/`
 * @param {readonly string[]} sources texts of the source files
 * @returns {string[]} names of pages that no source renders, and of partials that no template includes
 */
export function unusedViews(templates, sources) {
  const rendered = new Set(sources.flatMap((text) => found(text, /['/]([\w-]+)\.hbs'/g)))
  const included = new Set(templates.flatMap(({ text }) => found(text, /\{\{#?> ?([\w-]+)/g)))
  return templates
    .map(({ name }) => name)
    .filter((name) => {
      const [, isPartial, word = ''] = /(partials\/)?([^/]+)\.hbs$/.exec(name) ?? []
      return !(isPartial === undefined ? rendered : included).has(word)
    })
}

/** @type {(text: string, pattern: RegExp) => string[]} */
const found = (text, pattern) => [...text.matchAll(pattern)].map(([, name = '']) => name)
