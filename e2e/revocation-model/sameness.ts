import { isUnrevoked, LEASE_MS } from '../../packages/guard/src/revocations/revocation-view.js'
import { type ListenSession, PROOF_MS } from '../../services/authorization-server/src/feed/listen-session.js'
import { ANNOUNCEMENTS, NAMES, type World } from './world.js'

/** The token was revoked, the cache has no valid response, and every new call returns inactive. */
export function isFinished({ revokedAt, view, cached, call }: World): boolean {
  if (revokedAt === undefined || call?.saw === 'active') return false
  return cached === undefined || !isUnrevoked(view, cached.mark, NAMES)
}

/** Everything that later steps depend on. A number that is only compared is replaced by the result of the comparison. */
export function keyOf(world: World): string {
  const { now, granted, grantedAtEnding, revokedAt, view, cached, call, stream, left } = world
  const counter = view.stream?.counter ?? 0
  const servers = world.servers.map(({ session, queue, waiting, silent }) => [
    session && Math.max(0, session.verifiedUntil - now),
    session && stream && session.streams.has(stream.id),
    session && stream && (session.streams.get(stream.id)?.counter ?? 0) - counter,
    queue.map((payload) => meaningOf(payload, world, session)).filter((meaning) => meaning !== undefined),
    waiting.map((payload) => meaningOf(payload, world, session)).filter((meaning) => meaning !== undefined),
    silent
  ])
  const frames = stream?.pipe.map((frame) => {
    if (frame === 'end') return frame
    const cut = frame.id.lastIndexOf('-')
    const fits = view.stream === undefined || frame.id.slice(0, cut) === view.stream.epoch
    const nonce = 'nonce' in frame.data ? ageOf(world, String(frame.data.nonce)) : undefined
    return [frame.event, fits, Number(frame.id.slice(cut + 1)) - counter, nonce]
  })
  return JSON.stringify([
    left,
    granted,
    grantedAtEnding,
    revokedAt === undefined ? -1 : now - revokedAt,
    servers,
    stream && [stream.server, stream.silent, frames],
    [view.stream !== undefined, Math.max(0, view.verifiedUntil - now)],
    [...view.nonces.keys()].map((nonce) => ageOf(world, nonce)).filter((age) => age !== undefined),
    cached !== undefined && isUnrevoked(view, cached.mark, NAMES),
    call && [call.mark.wasVerified, isUnrevoked(view, call.mark, NAMES), now - call.begunAt, call.saw]
  ])
}

/** A notification without random names; undefined if it has no effect any more. */
function meaningOf(payload: string, world: World, session: ListenSession | undefined): unknown {
  if (payload === ANNOUNCEMENTS[world.end]) return 'ended'
  const { pulse, sent, stream, nonce } = JSON.parse(payload)
  if (nonce === undefined) return pulse === session?.epoch && world.now - sent < PROOF_MS ? world.now - sent : undefined
  const age = ageOf(world, nonce)
  return age === undefined || stream !== world.stream?.id ? undefined : ['nonce', age]
}

/** How long ago a nonce was sent; undefined if it can no longer extend the lease. */
function ageOf({ view, now }: World, nonce: string): number | undefined {
  const sentAt = view.nonces.get(nonce)
  return sentAt === undefined || now - sentAt >= LEASE_MS ? undefined : now - sentAt
}
