import type { IntrospectionOptions, Introspector } from '../introspection/introspector.js'

/** Where a guard reports what apps do. */
export type ActivityOptions = {
  /** Valetkey's endpoint on its internal listener, beside introspection: `http://auth.internal:4001/uses`. */
  url: string
  /** This API's credential. Default: that of `introspection`, unless that is an introspector. */
  clientId?: string
  clientSecret?: string
}

/** The same, complete. */
export type ReportingOptions = { url: string; clientId: string; clientSecret: string }

/** @throws {TypeError} that names the first wrong option */
export function readActivityOptions(
  activity: ActivityOptions,
  introspection: IntrospectionOptions | Introspector
): ReportingOptions {
  const { url } = activity
  const isUrl = typeof url === 'string' && /^https?:/i.test(url) && URL.canParse(url)
  if (!isUrl) throw new TypeError('activity.url must be an http or https URL')
  const known = 'introspect' in introspection ? undefined : introspection
  const { clientId = known?.clientId, clientSecret = known?.clientSecret } = activity
  if (typeof clientId !== 'string' || clientId === '') throw new TypeError('activity.clientId must be a string')
  if (typeof clientSecret !== 'string' || clientSecret === '') {
    throw new TypeError('activity.clientSecret must be a string')
  }
  return { url, clientId, clientSecret }
}
