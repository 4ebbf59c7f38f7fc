import type { Mark, RevocationView } from '../../packages/fastify-bearer/src/revocations/revocation-view.js'
import {
  closeStream,
  type Frame,
  type ListenSession
} from '../../services/authorization-server/src/feed/listen-session.js'

/**
 * The revocation protocol as one small world: Postgres, one or two authorization servers, the network, one guard, one grant
 * and its token. Who decides what is the code of the product itself (revocation-view.ts, listen-session.ts); the world only says
 * what may happen next, and every order of it is tried.
 */
export type World = {
  now: number
  /** What ends the token: its own revocation, the end of its user, or a table that is truncated. */
  end: End
  /** Whether the grant is there: its user has one for the audience of the guard. */
  granted: boolean
  /** Whether it was there when the transaction that ends the user began; undefined before that. */
  grantedAtEnding: boolean | undefined
  /** When the token's revocation was committed. */
  revokedAt: number | undefined
  servers: Server[]
  stream: Stream | undefined
  view: RevocationView
  kept: { mark: Mark } | undefined
  call: { mark: Mark; begunAt: number; saw: 'active' | 'inactive' | undefined } | undefined
  /** How often each thing may still happen: what keeps the world finite. */
  left: Left
  /** The worst that was seen on the way here. */
  stalest: number
}

export type End = 'token' | 'user' | 'table'

export type Left = { ticks: number; nonces: number; calls: number; listens: number; connects: number; faults: number }

export type Server = {
  session: ListenSession | undefined
  /** Notifications on their way to its LISTEN connection. */
  queue: string[]
  /** Notifications that wait, the first of them for Postgres to say which audiences it concerns. */
  waiting: string[]
  /** Packets are swallowed both ways, and nobody is told. */
  silent: boolean
  epochs: number
}

export type Stream = { server: number; id: string; pipe: (Frame | 'end')[]; silent: boolean }

/** Rules of the protocol that a test may leave out, to see that the model finds what goes wrong then. */
export type BrokenRule =
  | 'lease_from_receipt'
  | 'no_lease'
  | 'echo_past_postgres'
  | 'kept_over_reconnect'
  | 'kept_despite_events'
  | 'gaps_ignored'
  | 'audiences_listed_at_ending'
  | 'proofs_overtake'

export const AUDIENCE = 'https://files.example'
export const NAMES = ['jti:T', 'sub:U']
/** What Postgres announces of each. */
export const ANNOUNCEMENTS: Record<End, string> = {
  token: JSON.stringify({ ended: JSON.stringify({ jti: 'T', audience: AUDIENCE }) }),
  user: '{"sub":"U"}',
  table: '{"reset":"grants"}'
}

/** Changes the world that it is given. */
export type Step = (world: World) => void
/** Offers a step, where it can happen. */
export type May = (holds: boolean, name: string, step: Step) => void

/** A world of its own, so that a step changes this one alone. */
export function copyOf(world: World): World {
  const { view, stream } = world
  return {
    ...world,
    servers: world.servers.map((server) => ({
      ...server,
      session: server.session && { ...server.session, streams: new Map(server.session.streams) },
      queue: [...server.queue],
      waiting: [...server.waiting]
    })),
    stream: stream && { ...stream, pipe: [...stream.pipe] },
    view: {
      ...view,
      stream: view.stream && { ...view.stream },
      nonces: new Map(view.nonces),
      deaths: new Map(view.deaths)
    },
    call: world.call && { ...world.call },
    left: { ...world.left }
  }
}

/** Committed: in the queue of every server that hears. */
export function notify(w: World, payload: string): void {
  for (const server of w.servers) if (server.session !== undefined && !server.silent) server.queue.push(payload)
}

export function send(w: World, server: number, frame: Frame): void {
  const { stream } = w
  if (stream?.server !== server || stream.silent) return
  if (frame.stream === stream.id) stream.pipe.push(frame)
}

export function dropStream(w: World): void {
  const session = w.stream === undefined ? undefined : at(w, w.stream.server).session
  if (session !== undefined && w.stream !== undefined) closeStream(session, w.stream.id)
  w.stream = undefined
}

export function at(w: World, index: number): Server {
  const server = w.servers[index]
  if (server === undefined) throw new Error(`there is no server ${index}`)
  return server
}
