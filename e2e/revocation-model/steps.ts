import { emptyView } from '../../packages/guard/src/revocations/revocation-view.js'
import { pulsePayload } from '../../services/authorization-server/src/feed/listen-session.js'
import { guardReads, guardSteps } from './guard-steps.js'
import { connect, listening, receiveAll, serverSteps } from './server-steps.js'
import {
  ANNOUNCEMENTS,
  type BrokenRule,
  type End,
  type Left,
  type May,
  notify,
  type Step,
  type World
} from './world.js'

const TICK_MS = 1_000

/** The initial state: each server listens, and the guard follows the first one. The feed is not verified yet. */
export function newWorld(servers: number, left: Left, end: End = 'token'): World {
  const world: World = {
    now: 10_000,
    end,
    granted: end !== 'user',
    grantedAtEnding: undefined,
    revokedAt: undefined,
    servers: Array.from({ length: servers }, (_, index) => listening(index, 1)),
    stream: undefined,
    view: emptyView(),
    cached: undefined,
    call: undefined,
    left: { ...left, connects: left.connects + 1 },
    stalest: 0
  }
  for (const { session } of world.servers) if (session !== undefined) notify(world, pulsePayload(session, world.now))
  for (const index of world.servers.keys()) receiveAll(world, index, undefined)
  connect(world, 0)
  guardReads(world, undefined)
  return world
}

/** All possible next steps. Each changes the world that it is given. */
export function nextSteps(world: World, broken?: BrokenRule): [name: string, step: Step][] {
  const steps: [string, Step][] = []
  const may: May = (holds, name, step) => {
    if (holds) steps.push([name, step])
  }
  may(world.left.ticks > 0, 'a second passes', (w) => {
    w.left.ticks -= 1
    w.now += TICK_MS
    // With fewer pulses, the servers would be verified for a shorter time, and the guard would accept less.
    for (const { session, silent } of w.servers) {
      if (session !== undefined && !silent) notify(w, pulsePayload(session, w.now))
    }
  })
  may(!world.granted, 'the grant is opened', (w) => {
    w.granted = true
  })
  const mayEnd = world.revokedAt === undefined && world.grantedAtEnding === undefined
  may(world.end === 'user' && mayEnd, 'a transaction begins to end the user', (w) => {
    w.grantedAtEnding = w.granted
  })
  const mayCommit = world.end !== 'user' || world.grantedAtEnding !== undefined
  may(world.revokedAt === undefined && mayCommit, 'revoke', (w) => {
    w.revokedAt = w.now
    notify(w, ANNOUNCEMENTS[w.end])
  })
  for (const [index, server] of world.servers.entries()) serverSteps(index, server, world, may, broken)
  guardSteps(world, may, broken)
  return steps
}
