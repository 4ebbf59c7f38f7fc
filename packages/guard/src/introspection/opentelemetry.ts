import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'

// undici publishes each request here, and OpenTelemetry's instrumentation adds the headers of its own span to it.
const created = channel('undici:request:create')

/** The property in which version 1 of OpenTelemetry's API has what an SDK registered. */
const API = Symbol.for('opentelemetry.js.api.1')

/**
 * Whether OpenTelemetry adds `traceparent` to the calls of undici. The guard then adds none, because two headers cancel each
 * other (W3C Trace Context §3.2), and the span of the call is the right parent.
 */
export function isInstrumented(): boolean {
  if (!created.hasSubscribers) return false
  const api = (globalThis as { [API]?: { propagation?: unknown } })[API]
  return api?.propagation !== undefined
}

/** The caller's context, in which OpenTelemetry finds the parent of a call that is sent later. */
export function callerContext(): ReturnType<typeof AsyncLocalStorage.snapshot> | undefined {
  return isInstrumented() ? AsyncLocalStorage.snapshot() : undefined
}
