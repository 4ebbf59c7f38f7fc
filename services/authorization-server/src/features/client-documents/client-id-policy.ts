import { objectionToClientIdUrl } from '@valetkey/oauth-protocol'

/** Says which client id URLs are accepted (`CLIENT_ID_METADATA`, `…_ALLOW`, `…_DENY`). */
export type ClientIdPolicy = {
  mode: 'off' | 'listed' | 'open'
  allow: readonly ClientIdPattern[]
  /** Has priority over `allow`. */
  deny: readonly ClientIdPattern[]
  allowsLoopback: boolean
}

export type ClientIdPattern = { kind: 'host' | 'subdomains'; host: string } | { kind: 'url'; url: string }

/** The last label of a name is no number: that would be an IPv4 address. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9-]*[a-z][a-z0-9-]*$/

/** Reads `host`, `*.host` or a URL. A host matches with every port. @returns the problem as a string */
export function readClientIdPattern(text: string, rule: { allowsLoopback: boolean }): ClientIdPattern | string {
  if (text.includes('/')) {
    const objection = objectionToClientIdUrl(text, rule)
    return objection === undefined
      ? { kind: 'url', url: text }
      : `has the URL ${JSON.stringify(text)}, which ${objection}`
  }
  const isWildcard = text.startsWith('*.')
  const host = isWildcard ? text.slice(2) : text
  const isHost = isWildcard || host.includes('.') || host === 'localhost'
  if (!isHost || !DOMAIN.test(host)) {
    return `has ${JSON.stringify(text)}, which is no host in lower case, no *.host and no https URL`
  }
  return { kind: isWildcard ? 'subdomains' : 'host', host }
}

/** Whether this is the URL of a document that may be used. */
export function isAcceptedClientId(clientId: string, policy: ClientIdPolicy): boolean {
  if (policy.mode === 'off' || objectionToClientIdUrl(clientId, policy) !== undefined) return false
  return isAllowedClientId(clientId, policy)
}

/** @param clientId a client id URL */
export function isAllowedClientId(clientId: string, policy: ClientIdPolicy): boolean {
  const { mode, deny } = policy
  if (mode === 'off' || deny.some((pattern) => matches(clientId, pattern))) return false
  return mode === 'open' || isListedClientId(clientId, policy)
}

/** Whether `CLIENT_ID_METADATA_ALLOW` names it. In `open` mode it need not. */
export function isListedClientId(clientId: string, { allow }: Pick<ClientIdPolicy, 'allow'>): boolean {
  return allow.some((pattern) => matches(clientId, pattern))
}

function matches(clientId: string, pattern: ClientIdPattern): boolean {
  const { hostname } = new URL(clientId)
  switch (pattern.kind) {
    case 'url':
      return clientId === pattern.url
    case 'host':
      return hostname === pattern.host
    case 'subdomains':
      return hostname.endsWith(`.${pattern.host}`)
  }
}
