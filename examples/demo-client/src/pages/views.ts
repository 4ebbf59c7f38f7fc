import { fileURLToPath } from 'node:url'
import fastifyView from '@fastify/view'
import type { FastifyInstance } from 'fastify'
import Handlebars from 'handlebars'

/** Strict templates: a name that the page was not given is an error and not an empty spot. */
export async function registerViews(app: FastifyInstance): Promise<void> {
  await app.register(fastifyView, {
    engine: { handlebars: Handlebars.create() },
    root: fileURLToPath(new URL('../../views', import.meta.url)),
    // Templates are compiled once, for every value of NODE_ENV.
    production: true,
    options: {
      compileOptions: { strict: true },
      partials: {
        layout: 'partials/layout.hbs',
        logo: 'partials/logo.hbs',
        'connect-button': 'partials/connect-button.hbs'
      }
    }
  })
}
