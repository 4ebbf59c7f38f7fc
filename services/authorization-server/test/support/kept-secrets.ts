import type { Credentials } from './authorization-server.js'

/** Secrets as other servers make them; each has characters that form-encoding changes. */
export const KEPT_SECRETS = [
  'q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k=',
  '+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/+/',
  'a+b%20c%2Bd%41e%zz%f%ff:g&h=i#j',
  '%0A%00%0D%25%2525%2B%20++%20%2B',
  '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
  'z8Q~kT.1-abc_DEF~ghiJKL*mno!pqr'
]

export type Sent = { headers?: Record<string, string>; form?: Record<string, string> }

const formEncode = (text: string) => new URLSearchParams([['', text]]).toString().slice(1)
/** Java, Go and PHP encode more characters than browsers do. */
const formEncodeAll = (text: string) =>
  encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replace(/[!'()*~]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`)
const encodings = [
  // Authlib, requests-oauthlib, league/oauth2-client, simple-oauth2 in its loose mode, curl.
  (text: string) => text,
  // The oauth2 package of Go, Spring Security, openid-client, oauth4webapi.
  formEncode,
  formEncodeAll,
  // simple-oauth2 in its strict mode, Python's quote_plus, PHP's rawurlencode.
  encodeURIComponent,
  encodeURI
]

/** HTTP Basic as the libraries of the field encode it. */
export function basicHeaders({ clientId, clientSecret }: Credentials): { headers: Record<string, string> }[] {
  return encodings.map((encode) => ({
    headers: {
      authorization: `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`
    }
  }))
}
