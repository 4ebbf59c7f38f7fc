/** A hand-over that the authorization server started: who chooses files for which app. */
export type HandOver = {
  ownerId: string
  clientName: string
  /** BCP 47, of the user's pages. */
  language: string
  /** A page of the authorization server. */
  returnTo: string
  expiresIn: number
  /** Of the selection that the user changes; undefined if there is none. */
  identifier: string | undefined
}

type ChosenSelection = { identifier: string; summary: string }

export type HandOvers = {
  /** Starts a hand-over. @returns undefined if it is unknown or was started before @throws {HandOversUnavailable} */
  start(handOver: string): Promise<HandOver | undefined>
  /**
   * Reports what the user chose. It may be repeated.
   * @returns the address where the browser goes next; undefined if the request has ended
   * @throws {HandOversUnavailable}
   */
  finish(handOver: string, chosen: ChosenSelection): Promise<string | undefined>
}

/** The authorization server gave no usable response. */
export class HandOversUnavailable extends Error {
  override readonly name = 'HandOversUnavailable'
}

const TIME_LIMIT_MS = 3_000

type Options = {
  startUrl: string
  finishUrl: string
  clientId: string
  clientSecret: string
  /** Of the addresses to which browsers may go. */
  issuer: string
  /** Of the authorization details. */
  type: string
}

/** The endpoints `/selections/…` on the internal listener of the authorization server. */
export function createHandOvers({ startUrl, finishUrl, clientId, clientSecret, issuer, type }: Options): HandOvers {
  const authorization = `Basic ${Buffer.from(`${formEncode(clientId)}:${formEncode(clientSecret)}`).toString('base64')}`
  const { origin } = new URL(issuer)

  /** @returns undefined for 404 */
  async function send(url: string, body: object): Promise<Record<string, unknown> | undefined> {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        // A redirect would pass the credential on.
        redirect: 'error',
        signal: AbortSignal.timeout(TIME_LIMIT_MS)
      })
      const text = await response.text()
      if (response.status === 404 && text.includes('unknown_handover')) return undefined
      if (response.status !== 200) throw new Error(`status ${response.status}`)
      return JSON.parse(text) as Record<string, unknown>
    } catch (cause) {
      throw new HandOversUnavailable('the authorization server gave no usable response', { cause })
    }
  }

  /** Browsers are sent to the authorization server only. */
  function ownAddress(value: unknown): string {
    if (typeof value === 'string' && URL.canParse(value) && new URL(value).origin === origin) return value
    throw new HandOversUnavailable('return_to is no address of the authorization server')
  }

  return {
    async start(handOver) {
      const members = await send(startUrl, { handover: handOver })
      if (members === undefined) return undefined
      const { sub, client_name: clientName, language, expires_in: expiresIn, identifier } = members
      if (typeof sub !== 'string' || typeof clientName !== 'string' || typeof expiresIn !== 'number') {
        throw new HandOversUnavailable('the response lacks sub, client_name or expires_in')
      }
      return {
        ownerId: sub,
        clientName,
        language: typeof language === 'string' ? language : '',
        returnTo: ownAddress(members.return_to),
        expiresIn,
        identifier: typeof identifier === 'string' ? identifier : undefined
      }
    },
    async finish(handOver, chosen) {
      const members = await send(finishUrl, { handover: handOver, type, ...chosen })
      return members === undefined ? undefined : ownAddress(members.return_to)
    }
  }
}

/** Both parts of HTTP Basic are form-encoded before they are joined (RFC 6749 §2.3.1). */
const formEncode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
