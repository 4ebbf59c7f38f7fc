// What Redis holds of an authorization code, as one string. Its fields are parted by spaces and hold none:
//   issued         client redirect_uri challenge audience grant lifetime issued_at answer
//   taken attempt taken_at client redirect_uri challenge audience grant lifetime issued_at (and a space)
// Times are milliseconds. The scripts of codes.ts turn the one into the other.

/** What a code is bound to. All of it must match before the code is taken out. */
export type CodeBinding = {
  clientId: string
  redirectUri: string
  /** S256 challenge; undefined when the request had none. */
  codeChallenge: string | undefined
  audience: string
}

/** What a token request presents. Without `resource` any audience fits (RFC 8707 §2.2). */
export type CodePresentation = Omit<CodeBinding, 'audience'> & { resource: string | undefined }

export type CodeMismatch = 'client' | 'redirect_uri' | 'code_challenge' | 'resource'

export type TakeOutcome =
  /** `attempt` names this taking, for `putBack`. */
  | { kind: 'taken'; grantId: string; attempt: string }
  /** It was taken before. `mismatch` tells whether this request is right in everything else. */
  | { kind: 'spent'; grantId: string; mismatch: CodeMismatch | undefined }
  | { kind: 'bound_elsewhere'; mismatch: CodeMismatch }
  | { kind: 'unknown' }

/** The record of a code that can be taken. `lifetimeMs` and `issuedAt` serve its putting back only. */
export function issuedRecord(
  record: { grantId: string; binding: CodeBinding; sealedAnswer: Buffer | undefined },
  lifetimeMs: number,
  issuedAt: Date
): string {
  const { grantId, binding, sealedAnswer } = record
  const answer = sealedAnswer?.toString('base64') ?? ''
  return `${boundStart(binding)}${field(binding.audience)} ${grantId} ${lifetimeMs} ${issuedAt.getTime()} ${answer}`
}

/** How the record of a code starts that may be taken by this request. */
export function presentedStart(presented: CodePresentation): string {
  const start = boundStart(presented)
  return presented.resource ? `${start}${field(presented.resource)} ` : start
}

/** How the record of a code starts that was taken by this attempt. */
export const tombstoneOf = (attempt: string): string => `taken ${attempt} `

/** What a second sending of the form is answered with; a code that was taken has it no more. */
export function sealedAnswerOf(record: string): Buffer | undefined {
  const answer = record.startsWith('issued ') ? record.slice(record.lastIndexOf(' ') + 1) : ''
  return answer === '' ? undefined : Buffer.from(answer, 'base64')
}

/** Reads what the script that takes a code has left behind, or found and let be. */
export function toOutcome(record: string, attempt: string, presented: CodePresentation): TakeOutcome {
  const isTaken = record.startsWith('taken ')
  const fields = record.split(' ').slice(isTaken ? 3 : 1)
  const grantId = fields[4] ?? ''
  if (record.startsWith(tombstoneOf(attempt))) return { kind: 'taken', grantId, attempt }
  const mismatch = mismatchOf(fields, presented)
  if (isTaken) return { kind: 'spent', grantId, mismatch }
  // What does not start as presented differs in something.
  return { kind: 'bound_elsewhere', mismatch: mismatch ?? 'resource' }
}

function mismatchOf(fields: string[], presented: CodePresentation): CodeMismatch | undefined {
  const [clientId, redirectUri, codeChallenge, audience] = fields
  if (clientId !== field(presented.clientId)) return 'client'
  if (redirectUri !== field(presented.redirectUri)) return 'redirect_uri'
  if (codeChallenge !== field(presented.codeChallenge ?? '')) return 'code_challenge'
  if (presented.resource && audience !== field(presented.resource)) return 'resource'
  return undefined
}

function boundStart({ clientId, redirectUri, codeChallenge }: Omit<CodeBinding, 'audience'>): string {
  return `issued ${field(clientId)} ${field(redirectUri)} ${field(codeChallenge ?? '')} `
}

/** Without a space, a control character or a byte beyond ASCII, and another one for every text that UTF-8 can hold. */
const field = (text: string): string => encodeURI(text.replace(/\p{Surrogate}/gu, '\ufffd'))
