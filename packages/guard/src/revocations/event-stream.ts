import type { FeedEvent } from './revocation-view.js'

/** This is longer than any event of the feed. Limits the memory that a sender can fill with an event that never ends. */
const LONGEST_EVENT = 64 * 1024

/**
 * Reads server-sent events from a stream of text (HTML standard, "Interpreting an event stream").
 * @returns a function that takes the next piece of text and returns the events that it completed, or undefined if an
 * event is longer than `LONGEST_EVENT`
 */
export function eventStreamReader(): (text: string) => FeedEvent[] | undefined {
  let rest = ''
  let isFirst = true
  let next = { event: '', data: [] as string[] }
  // The standard keeps the last id for all following events, until another id is received.
  let id = ''

  return (text) => {
    let unread = rest + text
    if (isFirst && unread !== '') {
      isFirst = false
      if (unread.startsWith('\ufeff')) unread = unread.slice(1)
    }
    // A CR at the end may be the first half of a CRLF, so it is read with the next piece.
    const lastCr = unread.endsWith('\r') ? '\r' : ''
    const lines = unread.slice(0, unread.length - lastCr.length).split(/\r\n|\n|\r/)
    rest = (lines.pop() ?? '') + lastCr
    const events: FeedEvent[] = []
    for (const line of lines) readLine(line, events)
    const unfinished = next.data.reduce((length, line) => length + line.length + 1, rest.length)
    return unfinished > LONGEST_EVENT ? undefined : events
  }

  function readLine(line: string, events: FeedEvent[]): void {
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
