import type { FeedEvent } from './revocation-view.js'

/** More than any event of the feed has; a sender that never ends one must not fill our memory. */
const LONGEST_EVENT = 64 * 1024

/**
 * Reads server-sent events out of a stream's text, as the HTML standard ("Interpreting an event stream") has it.
 * @returns takes the next piece of text, and gives the events that it completed; undefined when one has no end
 */
export function eventStreamReader(): (text: string) => FeedEvent[] | undefined {
  let rest = ''
  let isFirst = true
  let next = { event: '', data: [] as string[] }
  // It stays until another one comes, which is what the standard asks for.
  let id = ''

  return (text) => {
    let unread = rest + text
    if (isFirst && unread !== '') {
      isFirst = false
      if (unread.startsWith('\ufeff')) unread = unread.slice(1)
    }
    // A CR at the end may be the first half of a CRLF.
    const held = unread.endsWith('\r') ? '\r' : ''
    const lines = unread.slice(0, unread.length - held.length).split(/\r\n|\n|\r/)
    rest = (lines.pop() ?? '') + held
    const events: FeedEvent[] = []
    for (const line of lines) takeLine(line, events)
    const unfinished = next.data.reduce((length, line) => length + line.length + 1, rest.length)
    return unfinished > LONGEST_EVENT ? undefined : events
  }

  function takeLine(line: string, events: FeedEvent[]): void {
    if (line === '') {
      if (next.data.length > 0) events.push({ event: next.event || 'message', id, data: next.data.join('\n') })
      next = { event: '', data: [] }
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') next.event = value
    else if (field === 'data') next.data.push(value)
    else if (field === 'id' && !value.includes('\0')) id = value
  }
}
