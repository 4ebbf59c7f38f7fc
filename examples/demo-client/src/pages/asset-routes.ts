import { readFile } from 'node:fs/promises'
import type { FastifyInstance } from 'fastify'

const folder = new URL('../../assets/', import.meta.url)

/** The two files that pages load, read once. */
export async function assetRoutes(app: FastifyInstance): Promise<void> {
  const style = await readFile(new URL('style.css', folder))
  const icon = await readFile(new URL('icon.svg', folder))
  app.get('/style.css', (_request, reply) => reply.type('text/css; charset=utf-8').send(style))
  app.get('/icon.svg', (_request, reply) => reply.type('image/svg+xml').send(icon))
}
