import type { FastifyInstance } from 'fastify'

/** The property in which Fastify looks for the name of a plugin first. */
const DISPLAY_NAME = Symbol.for('fastify.display-name')

type Plugin = ((...args: never[]) => unknown) & { [DISPLAY_NAME]?: string }

/**
 * Gives every plugin of the server a name at its registration. For a plugin without this name Fastify compares all modules
 * that the process has loaded, which took most of the time until a server was ready. Nested scopes inherit `register`.
 */
export function namePlugins(server: FastifyInstance): void {
  const register = server.register as (this: FastifyInstance, plugin: unknown, options?: unknown) => unknown
  Object.assign(server, {
    register(this: FastifyInstance, plugin: Plugin | Promise<unknown>, options?: unknown) {
      if (typeof plugin === 'function') plugin[DISPLAY_NAME] ??= plugin.name || 'scope'
      return register.call(this, plugin, options)
    }
  })
}
