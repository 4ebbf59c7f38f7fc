// Makes the tarball that is published: node packages/guard/publish/pack.mjs [directory]
// Prints its path; docs/releasing.md describes how it is published. The folder itself is private, because its manifest
// names a package of this workspace, which users cannot install.
import path from 'node:path'
import { packGuard } from './pack-guard.mjs'

process.stdout.write(`${await packGuard(path.resolve(process.argv[2] ?? '.'))}\n`)
