const LONGEST = 500

/** Removes control and format characters, and characters that change the direction of the text. */
export function withoutControls(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
}

/**
 * A redirect URI as it was sent, for the developer of the app: enough to compare it with the registered ones. It need not be
 * valid. Without control characters, user information, values of the query, and the fragment, which may have secrets.
 */
export function shownRedirectUri(sent: string): string {
  // More does not fit, and the rest is not worth the time.
  const readable = withoutControls(sent.slice(0, 4 * LONGEST))
  const [, place = '', query, fragment] = /^([^?#]*)(?:\?([^#]*))?(#.*)?$/.exec(readable) ?? []
  const shown = [
    place
      .split(/(?<=[/\\])/)
      .map(withoutUser)
      .join(''),
    query === undefined ? '' : `?${query.split('&').map(withoutValue).join('&')}`,
    fragment === undefined ? '' : '#…'
  ].join('')
  const characters = [...shown]
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST - 1).join('')}…` : shown
}

function withoutUser(segment: string): string {
  const end = segment.lastIndexOf('@')
  return end < 0 ? segment : `…${segment.slice(end)}`
}

function withoutValue(pair: string): string {
  const end = pair.indexOf('=')
  return end < 0 ? pair && '…' : `${pair.slice(0, end)}=…`
}
