// Reads the forms of a rendered page. The templates are the operator's own, so this finds mistakes; it is no defence against an attacker.
const COMMENT = /<!--[\s\S]*?-->/g
const TAG = /<(\/?)([a-z][a-z0-9-]*)((?:[^"'>]|"[^"]*"|'[^']*')*)>/gi
const ATTRIBUTE = /([^\s=/"'>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g
/** Types of fields whose value is not the user's. */
const FIXED = ['hidden', 'checkbox', 'radio', 'submit']
const FIELDS = ['input', 'button', 'select', 'textarea']

type Element = { name: string; attributes: ReadonlyMap<string, string>; form: string }

/**
 * What a page needs to work: its forms with their fields and buttons, its stylesheet and its scripts. Each is described as
 * markup, so that two pages can be compared.
 */
export function requiredParts(html: string): ReadonlySet<string> {
  const elements = elementsOf(html)
  const forms = elements.filter(({ name }) => name === 'form')
  const byId = new Map(forms.map(({ attributes }) => [attributes.get('id') ?? '', describeForm(attributes)]))
  const parts = new Set<string>()
  for (const { name, attributes, form } of elements) {
    if (name === 'form') parts.add(describeForm(attributes))
    if (name === 'link' || name === 'script') parts.add(markup(name, attributes, ['rel', 'href', 'src']))
    const owner = attributes.has('form') ? (byId.get(attributes.get('form') ?? '') ?? '') : form
    if (FIELDS.includes(name) && owner !== '') parts.add(`${describeField(name, attributes)} in ${owner}`)
  }
  return parts
}

/** The text that a reader sees. */
export const textOf = (html: string): string =>
  html
    .replace(COMMENT, '')
    .replace(/<title>.*?<\/title>/s, '')
    .replace(TAG, ' ')

function elementsOf(html: string): readonly Element[] {
  const elements: Element[] = []
  let form = ''
  for (const [, slash, tag = '', rest = ''] of html.replace(COMMENT, '').matchAll(TAG)) {
    const name = tag.toLowerCase()
    const attributes = attributesOf(rest)
    if (name === 'form') form = slash === '' ? describeForm(attributes) : ''
    if (slash === '') elements.push({ name, attributes, form })
  }
  return elements
}

function attributesOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    [...text.matchAll(ATTRIBUTE)].map(([, name = '', ...values]) => [
      name.toLowerCase(),
      values.find((value) => value !== undefined) ?? ''
    ])
  )
}

const describeForm = (attributes: ReadonlyMap<string, string>): string =>
  markup('form', attributes, ['method', 'action', 'data-passkey', 'data-options'])

/** A button without a name sends the form; which text or fields beside it are visible is up to the page. */
function describeField(name: string, attributes: ReadonlyMap<string, string>): string {
  const type = attributes.get('type') ?? (name === 'button' ? 'submit' : 'text')
  const hasFixedValue = FIXED.includes(type)
  const typed = new Map([...attributes, ['type', type]])
  return markup(
    name,
    typed,
    hasFixedValue ? ['type', 'name', 'value'] : type === 'password' ? ['type', 'name'] : ['name']
  )
}

function markup(name: string, attributes: ReadonlyMap<string, string>, shown: readonly string[]): string {
  const written = shown.flatMap((attribute) =>
    attributes.has(attribute) ? [` ${attribute}="${attributes.get(attribute)}"`] : []
  )
  return `<${name}${written.join('')}>`
}
