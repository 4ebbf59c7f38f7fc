import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

export const README = readFileSync(path.join(import.meta.dirname, '../../README.md'), 'utf8')

/** Name and text of each example in TypeScript. */
export const EXAMPLES = [...README.matchAll(/^```ts\n\/\/ ([a-z]+)\.ts\n([^`]*)^```$/gm)].map(
  ([, name = '', text = '']) => ({ name, text })
)

/** Writes the examples to a project, with the address of another authorization server. */
export function writeExamples(project: string, authorizationServer: string): void {
  for (const folder of ['readme', 'out/readme']) {
    mkdirSync(path.join(project, folder), { recursive: true })
    writeFileSync(path.join(project, folder, 'package.json'), '{ "type": "module" }')
  }
  for (const { name, text } of EXAMPLES) {
    const changed = text.replaceAll('http://auth.internal:4001', authorizationServer)
    writeFileSync(path.join(project, 'readme', `${name}.ts`), changed)
  }
}
