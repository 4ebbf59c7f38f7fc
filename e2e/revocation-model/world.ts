import {
  beginCall,
  emptyView,
  interrupt,
  isProved as isFeedProved,
  LEASE_MS,
  loseStream,
  type Mark,
  type RevocationView,
  receive as receiveEvent,
  sendNonce,
  stands
} from '../../packages/fastify-bearer/src/revocations/revocation-view.js'
import {
  closeStream,
  type Frame,
  isProved,
  type ListenSession,
  noncePayload,
  type OpenedFrame,
  openSession,
  openStream,
  pulsePayload,
  receive as receiveNotification
} from '../../services/authorization-server/src/feed/listen-session.js'

/**
 * The revocation protocol as one small world: Postgres, one or two authorization servers, the network, one guard and one
 * token. Who decides what is the code of the product itself (revocation-view.ts, listen-session.ts); the world only says
 * in which order things may happen, and that is: any.
 */
export type World = {
  now: number
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

export type Left = { ticks: number; nonces: number; calls: number; listens: number; connects: number; faults: number }

type Server = {
  session: ListenSession | undefined
  /** Notifications on their way to its LISTEN connection. */
  queue: string[]
  /** Packets are swallowed both ways, and nobody is told. */
  silent: boolean
  epochs: number
}

type Stream = { server: number; id: string; pipe: (Frame | OpenedFrame | 'end')[]; silent: boolean }

/** Rules of the protocol that a test may leave out, to see that the model finds what goes wrong then. */
export type BrokenRule =
  | 'lease_from_receipt'
  | 'no_lease'
  | 'echo_past_postgres'
  | 'kept_over_reconnect'
  | 'kept_despite_events'
  | 'gaps_ignored'

export const TICK_MS = 1_000
const CALL_LIMIT_MS = 2_000
export const NAMES = ['jti:T']
export const DEATH = '{"jti":"T"}'

/** Everything works: each server listens, and the guard follows the first one. Nothing is proved yet. */
export function newWorld(servers: number, left: Left): World {
  const world: World = {
    now: 10_000,
    revokedAt: undefined,
    servers: Array.from({ length: servers }, (_, index) => listening(index, 1)),
    stream: undefined,
    view: emptyView(),
    kept: undefined,
    call: undefined,
    left: { ...left, connects: left.connects + 1 },
    stalest: 0
  }
  for (const { session } of world.servers) if (session !== undefined) notify(world, pulsePayload(session, world.now))
  for (const index of world.servers.keys()) hear(world, index)
  connect(world, 0)
  guardReads(world, undefined)
  return world
}

/** A world of its own, so that a step changes this one alone. */
export function copyOf(world: World): World {
  const { view, stream } = world
  return {
    ...world,
    servers: world.servers.map((server) => ({
      ...server,
      session: server.session && { ...server.session, streams: new Set(server.session.streams) },
      queue: [...server.queue]
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

const listening = (index: number, epoch: number): Server => ({
  session: openSession(`epoch-${index}-${epoch}`),
  queue: [],
  silent: false,
  epochs: epoch
})

/** Whether the guard would let the token pass without asking. */
export function passes(world: World, broken?: BrokenRule): boolean {
  if (world.kept === undefined) return false
  if (broken !== 'no_lease' && !isFeedProved(world.view, world.now)) return false
  return stands(world.view, world.kept.mark, NAMES)
}

/** Everything that may happen next. Each step changes the world that it is given. */
export function nextSteps(world: World, broken?: BrokenRule): [name: string, step: (world: World) => void][] {
  const { left, stream, call } = world
  const steps: [string, (world: World) => void][] = []
  const may = (holds: boolean, name: string, step: (world: World) => void) => {
    if (holds) steps.push([name, step])
  }
  may(left.ticks > 0, 'a moment passes', (w) => {
    w.left.ticks -= 1
    w.now += TICK_MS
    // As many pulses as there can be: with fewer of them less is proved, and so less let pass.
    for (const { session, silent } of w.servers) {
      if (session !== undefined && !silent) notify(w, pulsePayload(session, w.now))
    }
  })
  may(world.revokedAt === undefined, 'revoke', (w) => {
    w.revokedAt = w.now
    notify(w, DEATH)
  })
  for (const [index, server] of world.servers.entries()) serverSteps(index, server, world, may, broken)
  may(stream !== undefined && stream.pipe.length > 0, 'guard reads', (w) => guardReads(w, broken))
  may(stream !== undefined && left.faults > 0 && !stream.silent, 'stream dies silently', (w) => {
    w.left.faults -= 1
    if (w.stream !== undefined) Object.assign(w.stream, { silent: true, pipe: [] })
  })
  may(stream !== undefined && left.faults > 0, 'stream breaks', (w) => {
    w.left.faults -= 1
    dropStream(w)
    interrupt(w.view)
  })
  may(stream !== undefined && stream.pipe.length > 1 && left.faults > 0, 'an event is lost', (w) => {
    w.left.faults -= 1
    w.stream?.pipe.shift()
  })
  may(world.view.stream !== undefined && left.nonces > 0, 'guard sends a nonce', (w) => {
    w.left.nonces -= 1
    const nonce = `nonce-of-the-guard-${w.left.nonces}`
    sendNonce(w.view, nonce, w.now)
    // Some server relays it at once. Later, or not at all, would prove less.
    relayNonce(w, { stream: w.view.stream?.id ?? '', nonce }, broken)
  })
  may(call === undefined && left.calls > 0, 'guard asks', (w) => {
    w.left.calls -= 1
    w.call = { mark: beginCall(w.view, w.now), begunAt: w.now, saw: undefined }
  })
  may(call !== undefined && call.saw === undefined, 'server looks', (w) => {
    if (w.call !== undefined) w.call.saw = w.revokedAt === undefined ? 'active' : 'inactive'
  })
  may(call?.saw !== undefined, 'answer arrives', (w) => takeAnswer(w, broken))
  return steps
}

type May = (holds: boolean, name: string, step: (world: World) => void) => void

function serverSteps(index: number, server: Server, world: World, may: May, broken: BrokenRule | undefined): void {
  const { left } = world
  const { session } = server
  may(session === undefined && left.listens > 0, `server ${index} listens again`, (w) => {
    w.left.listens -= 1
    w.servers[index] = listening(index, server.epochs + 1)
  })
  may(session !== undefined && server.queue.length > 0, `server ${index} hears`, (w) => hear(w, index))
  may(session !== undefined && left.faults > 0 && !server.silent, `server ${index} goes deaf silently`, (w) => {
    w.left.faults -= 1
    Object.assign(at(w, index), { silent: true, queue: [] })
  })
  const hasGoneDeaf = session !== undefined && !isProved(session, world.now)
  may(hasGoneDeaf && world.stream?.server === index, `server ${index} notices that it is deaf`, (w) => {
    const here = at(w, index)
    Object.assign(here, { session: undefined, queue: [] })
    if (w.stream?.server === index && !w.stream.silent) w.stream.pipe.push('end')
  })
  const isOpen = session !== undefined && (isProved(session, world.now) || broken === 'echo_past_postgres')
  may(world.stream === undefined && isOpen && left.connects > 0, `guard connects to ${index}`, (w) => connect(w, index))
}

/** All that has arrived: a connection that is slow by half is the same as one that broke before the other half. */
function hear(w: World, index: number): void {
  const { session, queue } = at(w, index)
  if (session === undefined) return
  for (const payload of queue.splice(0)) {
    for (const frame of receiveNotification(session, payload, w.now)) send(w, index, frame)
  }
}

function connect(w: World, index: number): void {
  const { session } = at(w, index)
  if (session === undefined) return
  w.left.connects -= 1
  const id = `stream-number-${w.left.connects}-of-all`
  w.stream = { server: index, id, pipe: [openStream(session, id)], silent: false }
}

/** All that has arrived, again. */
function guardReads(w: World, broken: BrokenRule | undefined): void {
  while (w.stream !== undefined && w.stream.pipe.length > 0) guardTakes(w, broken)
}

function guardTakes(w: World, broken: BrokenRule | undefined): void {
  const frame = w.stream?.pipe.shift()
  if (frame === undefined) return
  if (frame === 'end') {
    dropStream(w)
    loseStream(w.view)
    return
  }
  const { floor, deaths } = w.view
  const known = new Map(deaths)
  const fits = receiveEvent(w.view, { event: frame.event, id: frame.id, data: JSON.stringify(frame.data) })
  if (!fits && broken === 'gaps_ignored') {
    if (w.view.stream !== undefined) w.view.stream.counter = Number(frame.id.split('-').at(-1))
  } else if (!fits) {
    dropStream(w)
    loseStream(w.view)
  }
  if (broken === 'kept_over_reconnect') Object.assign(w.view, { floor: Math.min(floor, w.view.floor) })
  if (broken === 'kept_over_reconnect' && frame.event === 'opened') w.view.deaths = known
  if (broken === 'lease_from_receipt' && frame.event === 'proof') w.view.provedUntil = w.now + LEASE_MS
}

function relayNonce(w: World, sent: { stream: string; nonce: string }, broken: BrokenRule | undefined): void {
  if (broken !== 'echo_past_postgres') {
    notify(w, noncePayload(sent.stream, sent.nonce))
    return
  }
  const server = w.stream?.server
  const session = server === undefined ? undefined : at(w, server).session
  if (server === undefined || session === undefined) return
  const id = `${session.epoch}-${session.counter}`
  send(w, server, { stream: sent.stream, event: 'proof', id, data: { nonce: sent.nonce } })
}

function takeAnswer(w: World, broken: BrokenRule | undefined): void {
  const { call } = w
  w.call = undefined
  if (call?.saw !== 'active' || w.now - call.begunAt > CALL_LIMIT_MS) return
  if (w.revokedAt !== undefined) w.stalest = Math.max(w.stalest, w.now - w.revokedAt)
  if (broken === 'kept_despite_events') w.kept = { mark: beginCall(w.view, w.now) }
  else if (call.mark.proved && stands(w.view, call.mark, NAMES)) w.kept = { mark: call.mark }
}

/** Committed: in the queue of every server that hears. */
function notify(w: World, payload: string): void {
  for (const server of w.servers) if (server.session !== undefined && !server.silent) server.queue.push(payload)
}

function send(w: World, server: number, frame: Frame): void {
  const { stream } = w
  if (stream?.server !== server || stream.silent) return
  if (frame.stream === 'all' || frame.stream === stream.id) stream.pipe.push(frame)
}

function dropStream(w: World): void {
  const session = w.stream === undefined ? undefined : at(w, w.stream.server).session
  if (session !== undefined && w.stream !== undefined) closeStream(session, w.stream.id)
  w.stream = undefined
}

function at(w: World, index: number): Server {
  const server = w.servers[index]
  if (server === undefined) throw new Error(`there is no server ${index}`)
  return server
}
