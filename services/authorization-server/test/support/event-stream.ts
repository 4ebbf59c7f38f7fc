import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Credentials, TestServer } from './authorization-server.js'
import { basic } from './flow.js'
import { collectLog, type LogLine } from './log-lines.js'
import { listenOnFreePort, portOf } from './raw-connection.js'

export type ReceivedEvent = { event: string; id: string; data: Record<string, string> }

export type Subscription = {
  status: number
  headers: IncomingMessage['headers']
  request: ClientRequest
  response: IncomingMessage
  /** The received text, including comments. */
  text(): string
  /** The next event that was not returned yet. @throws if the stream ends first */
  next(): Promise<ReceivedEvent>
  ended: Promise<void>
}

/** Opens the revocation feed over a real connection. */
export async function subscribe(server: TestServer, by: Credentials): Promise<Subscription> {
  if (!server.internalServer.server.listening) await listenOnFreePort(server.internalServer)
  const options = {
    port: portOf(server.internalServer),
    path: '/revocations',
    headers: basic(by),
    agent: false as const
  }
  const asking = request({ host: '127.0.0.1', ...options }).end()
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  response.setEncoding('utf8')
  const events: ReceivedEvent[] = []
  let text = ''
  let taken = 0
  let parsed = 0
  let hasEnded = false
  let wake = () => {}
  response.on('data', (chunk: string) => {
    text += chunk
    for (let end = text.indexOf('\n\n', parsed); end >= 0; end = text.indexOf('\n\n', parsed)) {
      const event = parse(text.slice(parsed, end))
      if (event !== undefined) events.push(event)
      parsed = end + 2
    }
    wake()
  })
  response.on('error', () => {})
  const ended = new Promise<void>((resolve) => {
    response.once('close', () => {
      hasEnded = true
      wake()
      resolve()
    })
  })
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    request: asking,
    response,
    text: () => text,
    async next() {
      while (events.length === taken) {
        if (hasEnded) throw new Error('the stream ended')
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      taken += 1
      return events[taken - 1] as ReceivedEvent
    },
    ended
  }
}

function parse(block: string): ReceivedEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]))
  const event = fields.get('event')
  if (event === undefined) return undefined
  return { event, id: fields.get('id') ?? '', data: JSON.parse(fields.get('data') ?? '') }
}

/** Sends a nonce to an instance. */
export function sendNonce(server: TestServer, by: Credentials, stream: string, nonce: string) {
  return server.internalServer.inject({
    method: 'POST',
    url: '/revocations',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...basic(by) },
    payload: new URLSearchParams({ stream, nonce }).toString()
  })
}

export type StartedChannel = {
  events(): string[]
  lines: LogLine[]
  until(event: string, times?: number): Promise<void>
}

/** Starts the LISTEN connection of an instance and waits until its registry is loaded; returns its log events. */
export async function startChannel(server: TestServer): Promise<StartedChannel> {
  const { logger, lines } = collectLog()
  const named = (event: string) => lines.filter((line) => line.event === event).length
  const until = async (event: string, times = 1) => {
    while (named(event) < times) await sleep(5)
  }
  server.deps.channel.start(logger)
  await until('revocation_channel_ready')
  // Clients, scopes and resource servers are cached from now on.
  await until('registry_loaded', 3)
  return { lines, until, events: () => lines.map(({ event }) => String(event)) }
}

/** The number in the id of an event. */
export function countOf({ id }: ReceivedEvent): number {
  return Number(id.slice(id.lastIndexOf('-') + 1))
}

export function epochOf({ id }: ReceivedEvent): string {
  return id.slice(0, id.lastIndexOf('-'))
}
