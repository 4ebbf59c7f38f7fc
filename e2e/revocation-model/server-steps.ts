import {
  type Concerns,
  isVerified,
  openSession,
  openStream,
  receive
} from '../../services/authorization-server/src/feed/listen-session.js'
import { readNotification, subjectOf } from '../../services/authorization-server/src/feed/notification.js'
import { AUDIENCE, at, type BrokenRule, type May, type Server, send, type World } from './world.js'

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
  may(session !== undefined && server.queue.length > 0, `server ${index} receives`, (w) => receiveAll(w, index, broken))
  may(server.waiting.length > 0, `Postgres answers server ${index}`, (w) => receiveAudiences(w, index, broken))
  may(
    session !== undefined && left.faults > 0 && !server.silent,
    `server ${index} loses its connection silently`,
    (w) => {
      w.left.faults -= 1
      Object.assign(at(w, index), { silent: true, queue: [] })
    }
  )
  const isExpired = session !== undefined && !isVerified(session, world.now)
  may(isExpired && world.stream?.server === index, `server ${index} notices its lost connection`, (w) => {
    const here = at(w, index)
    Object.assign(here, { session: undefined, queue: [], waiting: [] })
    endStream(w, index)
  })
  const isOpen = session !== undefined && (isVerified(session, world.now) || broken === 'echo_past_postgres')
  may(world.stream === undefined && isOpen && left.connects > 0, `guard connects to ${index}`, (w) => connect(w, index))
}

/** Reads all notifications. Delaying half of them is equivalent to a failure of the connection after the first half. */
export function receiveAll(w: World, index: number, broken: BrokenRule | undefined): void {
  const { session, queue, waiting } = at(w, index)
  for (const payload of queue.splice(0)) {
    const notification = readNotification(payload)
    if (notification.kind === 'reset') {
      session?.streams.clear()
      endStream(w, index)
      continue
    }
    const overtakes = broken === 'proofs_overtake' && subjectOf(notification) === undefined
    const mustWait = waiting.length > 0 || subjectOf(notification) !== undefined
    if (mustWait && !overtakes) waiting.push(payload)
    else deliver(w, index, payload, () => true)
  }
}

/** Delivers the waiting notifications. If the query of the audiences fails, the notification is delivered to all streams. */
function receiveAudiences(w: World, index: number, broken: BrokenRule | undefined): void {
  const { waiting } = at(w, index)
  const isGranted = broken === 'audiences_listed_at_ending' ? w.grantedAtEnding === true : w.granted
  for (const payload of waiting.splice(0)) deliver(w, index, payload, (audience) => audience === AUDIENCE && isGranted)
}

function deliver(w: World, index: number, payload: string, concerns: Concerns): void {
  const { session } = at(w, index)
  if (session === undefined) return
  for (const frame of receive(session, readNotification(payload), w.now, concerns)) send(w, index, frame)
}

/** The server ends the stream, after the events it has sent. */
function endStream(w: World, index: number): void {
  if (w.stream?.server === index && !w.stream.silent) w.stream.pipe.push('end')
}

export function connect(w: World, index: number): void {
  const { session } = at(w, index)
  if (session === undefined) return
  w.left.connects -= 1
  const id = `stream-number-${w.left.connects}-of-all`
  w.stream = { server: index, id, pipe: [openStream(session, id, AUDIENCE)], silent: false }
}

/** A server with a new LISTEN connection. */
export const listening = (index: number, epoch: number): Server => ({
  session: openSession(`epoch-${index}-${epoch}`),
  queue: [],
  waiting: [],
  silent: false,
  epochs: epoch
})
