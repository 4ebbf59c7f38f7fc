export const PROFILES = ['oauth2.1', 'bcp', 'mcp', 'fapi2', 'valetkey'] as const
export type Profile = (typeof PROFILES)[number]

/** What the caller must give besides the URL, so that a check can run. */
export type Need = 'client' | 'secret' | 'other client' | 'sign-in' | 'resource'

export type Outcome = { kind: 'passed' } | { kind: 'failed'; message: string }

export const passed: Outcome = { kind: 'passed' }

export function failed(message: string): Outcome {
  return { kind: 'failed', message }
}

/** Passed if the condition holds; else failed with the message. */
export function verdict(holds: boolean, message: string): Outcome {
  return holds ? passed : failed(message)
}

/** The check does not concern this server, or lacks something that the caller can give. It is reported as skipped. */
export class NotApplicable extends Error {}

/** The check neither passed nor failed: no response, a rate limit, a sign-in that did not end. */
export class CouldNotTest extends Error {}
