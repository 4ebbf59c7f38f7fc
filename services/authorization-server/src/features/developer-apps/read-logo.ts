import { encodeLogo } from '../../platform/clients/encode-logo.js'
import type { ClientBranding } from '../../storage/postgres/client-branding.js'
import type { ClientLogoStore } from '../../storage/postgres/client-logos.js'
import type { SentLogo } from './read-app-form.js'

const PROBLEMS = {
  too_large: 'developer.logo_too_large',
  too_many_pixels: 'developer.logo_too_many_pixels',
  unreadable: 'developer.logo_unreadable',
  busy: 'developer.logo_busy'
}

/**
 * The logo after the change: the sent file, encoded anew and stored, or the present one.
 * @param present hash of the logo that the app has
 */
export async function readLogo(
  sent: SentLogo,
  { present, removes }: { present: ClientBranding['logo']; removes: boolean },
  logos: Pick<ClientLogoStore, 'save'>
): Promise<{ kind: 'logo'; hash: string | undefined } | { kind: 'refused'; problem: string }> {
  if (sent === undefined) return { kind: 'logo', hash: removes ? undefined : present }
  const outcome = sent.kind === 'file' ? await encodeLogo(sent.content) : sent
  if (outcome.kind !== 'logo') return { kind: 'refused', problem: PROBLEMS[outcome.kind] }
  await logos.save(outcome.logo)
  return { kind: 'logo', hash: outcome.logo.hash }
}
