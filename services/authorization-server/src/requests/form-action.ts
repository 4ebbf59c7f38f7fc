import type { redirectTarget } from '@valetkey/oauth-protocol'

/**
 * The sources that `form-action` must name so that the redirect after Allow is not blocked. For a web app any https
 * address: its callback may itself redirect on, and browsers hold that hop to our policy too.
 */
export function formActionSources(target: ReturnType<typeof redirectTarget>): readonly string[] {
  switch (target.kind) {
    case 'app':
      return [target.scheme]
    case 'loopback':
      return [target.origin]
    case 'web':
      return [target.origin, 'https:']
  }
}
