import { expect, test } from '@jest/globals'
import { signInAndAllow, TRACE_HEADERS, traced, tracesOf } from '../../../support/audit-traces.js'
import { behindTracingProxy } from '../../../support/traced-server.js'
import { requestOf, useDiscovery } from '../support/discovery.js'

const world = useDiscovery({ TRUSTED_PROXIES: '127.0.0.1' })

test('the audit events of a client that a document describes have the trace id', async () => {
  const server = behindTracingProxy(world.server, TRACE_HEADERS)
  const clientId = world.documents.publish('/traced')
  const events = await tracesOf(server, () => signInAndAllow(server, requestOf(clientId)))
  expect(events).toEqual(traced('sign_in_succeeded', 'client_discovered', 'consent_given', 'code_issued'))
})
