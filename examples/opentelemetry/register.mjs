// Sends spans of a Valetkey service to an OpenTelemetry collector: NODE_OPTIONS=--import=/opt/opentelemetry/register.mjs
// docs/tracing.md says how to install it and what it costs.
import { BlockList, isIPv6 } from 'node:net'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { detectResources, envDetector } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'

const { TRUSTED_PROXIES = 'none', INTROSPECTION_URL, INTERNAL_LISTEN = ':4001' } = process.env
const isResourceServer = INTROSPECTION_URL !== undefined

const provider = new NodeTracerProvider({
  // OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES.
  resource: detectResources({ detectors: [envDetector] }),
  // OTEL_EXPORTER_OTLP_ENDPOINT.
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())]
})
// Without W3C baggage, which would pass on data of untrusted clients.
provider.register({ propagator: new W3CTraceContextPropagator() })

const proxies = new BlockList()
for (const network of TRUSTED_PROXIES === 'none' ? [] : TRUSTED_PROXIES.split(/[\s,]+/).filter(Boolean)) {
  const [address, prefix] = network.split('/')
  const isV6 = isIPv6(address)
  proxies.addSubnet(address, Number(prefix ?? (isV6 ? 128 : 32)), isV6 ? 'ipv6' : 'ipv4')
}

/** Decides as the services do: trusted proxies, and each peer of the internal listener. */
function isTrusted({ remoteAddress = '', localPort }) {
  if (!isResourceServer && localPort === Number(INTERNAL_LISTEN.split(':').at(-1))) return true
  return remoteAddress !== '' && proxies.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4')
}

// Probes have no spans, and neither has the revocation feed, whose requests last hours.
const UNTRACED = /^\/(?:livez|readyz|metrics|revocations)(?:\?|$)/

registerInstrumentations({
  instrumentations: [
    new HttpInstrumentation({
      ignoreIncomingRequestHook(request) {
        if (!isTrusted(request.socket)) {
          delete request.headers.traceparent
          delete request.headers.tracestate
        }
        return UNTRACED.test(request.url)
      },
      // Queries have codes and state values.
      startIncomingSpanHook: () => ({ 'url.query': undefined }),
      // Otherwise providers and hosts of client documents would get `traceparent`.
      disableOutgoingRequestInstrumentation: true
    }),
    new UndiciInstrumentation({
      ignoreRequestHook: ({ origin, path }) =>
        !isResourceServer || String(origin) !== new URL(INTROSPECTION_URL).origin || UNTRACED.test(path)
    })
  ]
})
