// `node --import` of this file lets the conformance tool start on Node 20: it imports `globSync`, which Node has since 22, for
// a command that is not used here.
import fs from 'node:fs'
import { register } from 'node:module'

const shim = "export * from 'node:fs'; export function globSync() { throw new Error('needs Node 22') }"
const hook = `export const resolve = (specifier, context, next) =>
  specifier === 'fs' && context.parentURL.includes('/@modelcontextprotocol/conformance/')
    ? { url: ${JSON.stringify(moduleOf(shim))}, shortCircuit: true }
    : next(specifier, context)`
if (fs.globSync === undefined) register(moduleOf(hook))

function moduleOf(source) {
  return `data:text/javascript,${encodeURIComponent(source)}`
}
