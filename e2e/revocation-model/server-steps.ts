import {
  isProved,
  openSession,
  openStream,
  receive
} from '../../services/authorization-server/src/feed/listen-session.js'
import { at, type BrokenRule, type May, type Server, send, type World } from './world.js'

/** What may happen next at one authorization server. */
export function serverSteps(
  index: number,
  server: Server,
  world: World,
  may: May,
  broken: BrokenRule | undefined
): void {
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
export function hear(w: World, index: number): void {
  const { session, queue } = at(w, index)
  if (session === undefined) return
  for (const payload of queue.splice(0)) {
    for (const frame of receive(session, payload, w.now)) send(w, index, frame)
  }
}

export function connect(w: World, index: number): void {
  const { session } = at(w, index)
  if (session === undefined) return
  w.left.connects -= 1
  const id = `stream-number-${w.left.connects}-of-all`
  w.stream = { server: index, id, pipe: [openStream(session, id)], silent: false }
}

/** A server that has just begun to listen. */
export const listening = (index: number, epoch: number): Server => ({
  session: openSession(`epoch-${index}-${epoch}`),
  queue: [],
  silent: false,
  epochs: epoch
})
