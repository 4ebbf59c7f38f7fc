export { type BearerOptions, bearerPlugin, type RequireAccessToken } from './bearer-plugin.js'
