import { buildApp } from './app.js'
import { readConfig } from './config.js'

try {
  const config = readConfig()
  const app = await buildApp(config)
  await app.listen(config.listen)
  process.stdout.write(`MCP server at ${config.resource}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => app.close())
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}
