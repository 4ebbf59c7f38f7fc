// Makes the tarball that is published: node packages/conformance/publish/pack.mjs [directory]
// Prints where it lies; docs/releasing.md describes how it is published.
import path from 'node:path'
import { packConformance } from './pack-conformance.mjs'

process.stdout.write(`${await packConformance(path.resolve(process.argv[2] ?? '.'))}\n`)
