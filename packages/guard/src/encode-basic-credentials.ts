/** The Authorization header of HTTP Basic. Both parts are form-encoded before they are joined (RFC 6749 §2.3.1). */
export function basicCredentials({ clientId, clientSecret }: { clientId: string; clientSecret: string }): string {
  return `Basic ${Buffer.from(`${formEncode(clientId)}:${formEncode(clientSecret)}`).toString('base64')}`
}

const formEncode = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
