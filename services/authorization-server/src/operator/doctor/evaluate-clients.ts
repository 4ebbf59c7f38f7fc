import { redirectTarget } from '@valetkey/oauth-protocol'
import { type Complaint, type Finding, graveInProduction, ok, warning } from '@valetkey/service-kit'
import type { ClientState } from '../../storage/postgres/registry-state.js'

const YEAR_MS = 365 * 86_400_000
const NAMED = 5

/** The requirements of RFC 9700 and OWASP ASVS chapter 10 that depend on the registration. */
export function evaluateClients(
  clients: readonly ClientState[],
  { isProduction, now }: { isProduction: boolean; now: Date }
): readonly Finding[] {
  const those = (
    check: string,
    matches: (client: ClientState) => boolean,
    complaint: Complaint,
    severity: (check: string, complaint: Complaint) => Finding = warning
  ): Finding => {
    const found = clients.filter(matches)
    if (found.length === 0) return ok(check, `no problem in ${clients.length} clients`)
    return severity(check, { ...complaint, what: `${complaint.what}: ${named(found.map(({ clientId }) => clientId))}` })
  }
  return [
    those(
      'http redirect URIs',
      ({ redirectUris }) => redirectUris.some(isPlainHttp),
      {
        what: 'codes are sent over http to clients',
        why: 'An attacker on the network can read them (RFC 9700 section 2.6). Only loopback URIs may use http.',
        fix: 'valetkey clients update CLIENT_ID --redirect-uri https://…'
      },
      graveInProduction(isProduction)
    ),
    those('PKCE', ({ type, requiresPkce }) => type === 'confidential' && !requiresPkce, {
      what: 'confidential clients that may leave out PKCE',
      why: 'Without PKCE, an attacker can inject a stolen code into another session (RFC 9700 section 2.1.1, ASVS 10.4.6).',
      fix: 'when the app sends a code_challenge: valetkey clients update CLIENT_ID --require-pkce'
    }),
    those('consent of public clients', ({ type, consent }) => type === 'public' && consent === 'remember', {
      what: 'public clients that get codes without consent',
      why: 'Any app can impersonate a public client, so the user must consent every time (ASVS 10.7.1).',
      fix: 'valetkey clients update CLIENT_ID --consent ask'
    }),
    those('age of client secrets', ({ oldestSecretAt }) => isOld(oldestSecretAt, now), {
      what: 'clients with a secret older than a year',
      why: 'An old secret has had more chances to leak.',
      fix: 'rotate it, see docs/rotation.md'
    }),
    those('number of client secrets', ({ endlessSecrets }) => endlessSecrets > 1, {
      what: 'clients with two secrets that never expire',
      why: 'An unfinished rotation leaves the old secret valid.',
      fix: 'when the app uses the new one: valetkey clients delete-secret CLIENT_ID SECRET_ID'
    }),
    those(
      'end of client secrets',
      ({ type, hasKey, endlessSecrets }) => type === 'confidential' && !hasKey && endlessSecrets === 0,
      {
        what: 'clients whose secrets have all expired or will expire',
        why: 'Without a valid secret, the app cannot exchange codes.',
        fix: 'valetkey clients rotate-secret CLIENT_ID'
      }
    )
  ]
}

/** Decides as registration does: a loopback redirect URI has one of three hosts (RFC 8252 §7.3, §8.3). */
function isPlainHttp(redirectUri: string): boolean {
  if (!URL.canParse(redirectUri)) return false
  const target = redirectTarget(redirectUri)
  return target.kind === 'web' && target.origin.startsWith('http:')
}

export const isOld = (createdAt: Date | undefined, now: Date): boolean =>
  createdAt !== undefined && now.getTime() - createdAt.getTime() > YEAR_MS

/** Names a few ids and counts the others. */
export function named(names: readonly string[]): string {
  const first = names.slice(0, NAMED)
  const more = names.length - first.length
  return more > 0 ? `${first.join(', ')} and ${more} more` : first.join(', ')
}
