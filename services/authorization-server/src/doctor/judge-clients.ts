import { type Complaint, type Finding, graveInProduction, isLoopback, ok, warning } from '@valetkey/service-kit'
import type { ClientState } from '../storage/registry-state.js'

const YEAR_MS = 365 * 86_400_000
const NAMED = 5

/** What RFC 9700 and chapter 10 of OWASP's ASVS ask and a registration decides. */
export function judgeClients(
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
    if (found.length === 0) return ok(check, `none of ${clients.length} clients is in the way`)
    return severity(check, { ...complaint, what: `${complaint.what}: ${named(found.map(({ clientId }) => clientId))}` })
  }
  return [
    those(
      'http redirect URIs',
      ({ redirectUris }) => redirectUris.some(isPlainHttp),
      {
        what: 'codes are sent over http',
        why: 'Whoever is on the way reads them (RFC 9700 section 2.6; only loopback may be http).',
        mend: 'valetkey clients update CLIENT_ID --redirect-uri https://…'
      },
      graveInProduction(isProduction)
    ),
    those('PKCE', ({ type, requiresPkce }) => type === 'confidential' && !requiresPkce, {
      what: 'confidential clients may leave out PKCE',
      why: 'A code that is put into somebody else’s session goes unnoticed (RFC 9700 section 2.1.1, ASVS 10.4.6).',
      mend: 'once the app sends a challenge: valetkey clients update CLIENT_ID --require-pkce'
    }),
    those('consent of public clients', ({ type, consent }) => type === 'public' && consent === 'remember', {
      what: 'public clients get codes without a question',
      why: 'Anybody can pose as a public client, so a person has to be asked each time (ASVS 10.7.1).',
      mend: 'valetkey clients update CLIENT_ID --consent ask'
    }),
    those('age of client secrets', ({ oldestSecretAt }) => isOld(oldestSecretAt, now), {
      what: 'a secret is older than a year',
      why: 'The longer a secret lives, the more copies of it there are.',
      mend: 'rotate it as docs/rotation.md says'
    }),
    those('number of client secrets', ({ endlessSecrets }) => endlessSecrets > 1, {
      what: 'two secrets have no end',
      why: 'A rotation that was not finished leaves the old secret valid.',
      mend: 'once the app uses the new one: valetkey clients delete-secret CLIENT_ID SECRET_ID'
    }),
    those('end of client secrets', ({ type, endlessSecrets }) => type === 'confidential' && endlessSecrets === 0, {
      what: 'every secret has ended or is about to',
      why: 'Then the app cannot exchange a code, and its users cannot come in.',
      mend: 'valetkey clients rotate-secret CLIENT_ID'
    })
  ]
}

function isPlainHttp(redirectUri: string): boolean {
  if (!URL.canParse(redirectUri)) return false
  const { protocol, hostname } = new URL(redirectUri)
  return protocol === 'http:' && !isLoopback(hostname)
}

export const isOld = (createdAt: Date | undefined, now: Date): boolean =>
  createdAt !== undefined && now.getTime() - createdAt.getTime() > YEAR_MS

/** A few of them by name, the others by number. */
export function named(names: readonly string[]): string {
  const first = names.slice(0, NAMED)
  const more = names.length - first.length
  return more > 0 ? `${first.join(', ')} and ${more} more` : first.join(', ')
}
