import { buildApp } from './app.js'
import { readConfig } from './config.js'

const STOP_TIME_LIMIT_MS = 10_000

try {
  const config = readConfig()
  const app = await buildApp(config)
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, async () => {
      setTimeout(() => process.exit(1), STOP_TIME_LIMIT_MS).unref()
      await app.close()
      process.exit(0)
    })
  }
  await app.listen(config.listen)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exit(1)
}
