import { LEASE_MS, stands } from '../../packages/fastify-bearer/src/revocations/revocation-view.js'
import { type ListenSession, PROOF_MS } from '../../services/authorization-server/src/feed/listen-session.js'
import { ANNOUNCEMENTS, NAMES, type World } from './world.js'

/** Nothing can be let pass any more: what is kept has fallen, and whoever asks now hears that it was revoked. */
export function isOver({ revokedAt, view, kept, call }: World): boolean {
  if (revokedAt === undefined || call?.saw === 'active') return false
  return kept === undefined || !stands(view, kept.mark, NAMES)
}

/** What the future of a world depends on. Numbers that only ever are compared appear as what the comparison gives. */
export function keyOf(world: World): string {
  const { now, granted, grantedAtEnding, revokedAt, view, kept, call, stream, left } = world
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
    kept !== undefined && stands(view, kept.mark, NAMES),
    call && [call.mark.proved, stands(view, call.mark, NAMES), now - call.begunAt, call.saw]
  ])
}

/** A notification that can still change something, without the names that are only told apart. */
function meaningOf(payload: string, world: World, session: ListenSession | undefined): unknown {
  if (payload === ANNOUNCEMENTS[world.end]) return 'ended'
  const { pulse, sent, stream, nonce } = JSON.parse(payload)
  if (nonce === undefined) return pulse === session?.epoch && world.now - sent < PROOF_MS ? world.now - sent : undefined
  const age = ageOf(world, nonce)
  return age === undefined || stream !== world.stream?.id ? undefined : ['nonce', age]
}

/** How long ago a nonce was sent; undefined when it can prove nothing any more. */
function ageOf({ view, now }: World, nonce: string): number | undefined {
  const sentAt = view.nonces.get(nonce)
  return sentAt === undefined || now - sentAt >= LEASE_MS ? undefined : now - sentAt
}
