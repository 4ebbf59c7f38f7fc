import type { FastifyRequest } from 'fastify'

/** What an app sent, for its developer. */
export type SentByApp = {
  /** The reason, if `/errors/…` explains it. */
  error?: string | undefined
  clientId?: string | undefined
  redirectUri?: string | undefined
  detail?: string | undefined
}

const MAX_LENGTH = 300

/** Returns the data of `partials/technical-details.hbs`. Each member is present, because templates are strict. */
export function technicalDetails(request: Pick<FastifyRequest, 'id'>, sent: SentByApp = {}) {
  return {
    error: sent.error ?? '',
    detail: sent.detail ?? '',
    clientId: printable(sent.clientId ?? ''),
    redirectUri: printable(sent.redirectUri ?? ''),
    requestId: request.id,
    time: new Date().toISOString()
  }
}

/** Bounded, and all other characters percent-encoded: they could hide or reorder the text. */
function printable(text: string): string {
  const shown = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
  return shown.replaceAll(/[^\x20-\x7e…]/gu, (character) =>
    Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
  )
}
