import { buildApp } from './app.js'
import { readConfig } from './config.js'

try {
  const config = readConfig()
  const app = await buildApp(config)
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => app.close().finally(() => process.exit()))
  await app.listen(config.listen)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exit(1)
}
