import type { Mark, RevocationView } from '../../packages/guard/src/revocations/revocation-view.js'
import {
  closeStream,
  type Frame,
  type ListenSession
} from '../../services/authorization-server/src/feed/listen-session.js'

/**
 * A model of the revocation protocol: Postgres, one or two authorization servers, the network, one guard, one grant and
 * its token. All decisions are made by the product's code (revocation-view.ts, listen-session.ts). The model only lists the
 * possible next steps, and the test tries every order of them.
 */
export type World = {
  now: number
  /** What ends the token: its own revocation, the end of its user, or a truncated table. */
  end: End
  /** Whether the user has a grant for the guard's audience. */
  granted: boolean
  /** `granted` at the start of the transaction that ends the user; undefined before that. */
  grantedAtEnding: boolean | undefined
  /** When the token's revocation was committed. */
  revokedAt: number | undefined
  servers: Server[]
  stream: Stream | undefined
  view: RevocationView
  cached: { mark: Mark } | undefined
  call: { mark: Mark; begunAt: number; saw: 'active' | 'inactive' | undefined } | undefined
  /** How often each kind of step may still happen; keeps the model finite. */
  left: Left
  /** The longest time after the revocation at which the token was accepted. */
  stalest: number
}

export type End = 'token' | 'user' | 'table'

export type Left = { ticks: number; nonces: number; calls: number; listens: number; connects: number; faults: number }

export type Server = {
  session: ListenSession | undefined
  /** Notifications on their way to its LISTEN connection. */
  queue: string[]
  /** Notifications that wait for a query of the first one's audiences. */
  waiting: string[]
  /** Packets are lost in both directions, without an error. */
  silent: boolean
  epochs: number
}

type Stream = { server: number; id: string; pipe: (Frame | 'end')[]; silent: boolean }

/** Rules of the protocol that a test can disable, to see that the model finds the violation. */
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
/** The notification of Postgres for each end. */
export const ANNOUNCEMENTS: Record<End, string> = {
  token: JSON.stringify({ ended: JSON.stringify({ jti: 'T', audience: AUDIENCE }) }),
  user: '{"sub":"U"}',
  table: '{"reset":"grants"}'
}

/** Changes the world that it is given. */
export type Step = (world: World) => void
/** Adds a step if the condition is true. */
export type May = (holds: boolean, name: string, step: Step) => void

/** A deep copy, so that a step changes only the copy. */
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
      revocations: new Map(view.revocations)
    },
    call: world.call && { ...world.call },
    left: { ...world.left }
  }
}

/** Commits a notification: adds it to the queue of every server that listens. */
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
