import {
  addNonce,
  applyEvent,
  beginCall,
  disconnect,
  isUnrevoked,
  isVerified,
  LEASE_MS,
  resetView
} from '../../packages/guard/src/revocations/revocation-view.js'
import { noncePayload } from '../../services/authorization-server/src/feed/listen-session.js'
import { at, type BrokenRule, dropStream, type May, NAMES, notify, send, type World } from './world.js'

const CALL_LIMIT_MS = 2_000

/** Whether the guard accepts the token from its cache. */
export function passes(world: World, broken?: BrokenRule): boolean {
  if (world.cached === undefined) return false
  if (broken !== 'no_lease' && !isVerified(world.view, world.now)) return false
  return isUnrevoked(world.view, world.cached.mark, NAMES)
}

/** The possible next steps of the guard and of its stream. */
export function guardSteps(world: World, may: May, broken: BrokenRule | undefined): void {
  const { left, stream, call } = world
  may(stream !== undefined && stream.pipe.length > 0, 'guard reads', (w) => guardReads(w, broken))
  may(stream !== undefined && left.faults > 0 && !stream.silent, 'stream fails silently', (w) => {
    w.left.faults -= 1
    if (w.stream !== undefined) Object.assign(w.stream, { silent: true, pipe: [] })
  })
  may(stream !== undefined && left.faults > 0, 'stream breaks', (w) => {
    w.left.faults -= 1
    dropStream(w)
    disconnect(w.view)
  })
  may(stream !== undefined && stream.pipe.length > 1 && left.faults > 0, 'an event is lost', (w) => {
    w.left.faults -= 1
    w.stream?.pipe.shift()
  })
  may(world.view.stream !== undefined && left.nonces > 0, 'guard sends a nonce', (w) => {
    w.left.nonces -= 1
    const nonce = `nonce-of-the-guard-${w.left.nonces}`
    addNonce(w.view, nonce, w.now)
    // A server relays it immediately. If it did so later, or not at all, the feed would be verified for a shorter time.
    relayNonce(w, { stream: w.view.stream?.id ?? '', nonce }, broken)
  })
  may(call === undefined && left.calls > 0, 'guard introspects', (w) => {
    w.left.calls -= 1
    w.call = { mark: beginCall(w.view, w.now), begunAt: w.now, saw: undefined }
  })
  may(call !== undefined && call.saw === undefined, 'server reads the token', (w) => {
    if (w.call !== undefined) w.call.saw = w.granted && w.revokedAt === undefined ? 'active' : 'inactive'
  })
  may(call?.saw !== undefined, 'answer arrives', (w) => storeAnswer(w, broken))
}

/** Reads all events that have arrived. */
export function guardReads(w: World, broken: BrokenRule | undefined): void {
  while (w.stream !== undefined && w.stream.pipe.length > 0) readFrame(w, broken)
}

function readFrame(w: World, broken: BrokenRule | undefined): void {
  const frame = w.stream?.pipe.shift()
  if (frame === undefined) return
  if (frame === 'end') {
    dropStream(w)
    resetView(w.view)
    return
  }
  const { oldestValidMark, revocations } = w.view
  const known = new Map(revocations)
  const fits = applyEvent(w.view, { event: frame.event, id: frame.id, data: JSON.stringify(frame.data) })
  if (!fits && broken === 'gaps_ignored') {
    if (w.view.stream !== undefined) w.view.stream.counter = Number(frame.id.split('-').at(-1))
  } else if (!fits) {
    dropStream(w)
    resetView(w.view)
  }
  if (broken === 'kept_over_reconnect')
    Object.assign(w.view, { oldestValidMark: Math.min(oldestValidMark, w.view.oldestValidMark) })
  if (broken === 'kept_over_reconnect' && frame.event === 'opened') w.view.revocations = known
  if (broken === 'lease_from_receipt' && frame.event === 'proof') w.view.verifiedUntil = w.now + LEASE_MS
}

function relayNonce(w: World, sent: { stream: string; nonce: string }, broken: BrokenRule | undefined): void {
  if (broken !== 'echo_past_postgres') {
    notify(w, noncePayload(sent.stream, sent.nonce))
    return
  }
  const server = w.stream?.server
  const session = server === undefined ? undefined : at(w, server).session
  if (server === undefined || session === undefined) return
  const id = `${session.epoch}-${session.streams.get(sent.stream)?.counter ?? 0}`
  send(w, server, { stream: sent.stream, event: 'proof', id, data: { nonce: sent.nonce } })
}

function storeAnswer(w: World, broken: BrokenRule | undefined): void {
  const { call } = w
  w.call = undefined
  if (call?.saw !== 'active' || w.now - call.begunAt > CALL_LIMIT_MS) return
  if (w.revokedAt !== undefined) w.stalest = Math.max(w.stalest, w.now - w.revokedAt)
  if (broken === 'kept_despite_events') w.cached = { mark: beginCall(w.view, w.now) }
  else if (call.mark.wasVerified && isUnrevoked(w.view, call.mark, NAMES)) w.cached = { mark: call.mark }
}
