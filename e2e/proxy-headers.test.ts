import { expect, test } from '@jest/globals'
import { read } from './support/documents.js'

// The services trust the addresses of these proxies, and so the trace contexts that they pass on.
test.each(['infra/docker/nginx.conf', 'docs/containers.md'])(
  'nginx of %s removes trace contexts of clients',
  (file) => {
    const locations = read(file).match(/proxy_pass [\s\S]*?\n +\}/g) ?? []
    expect(locations).toHaveLength(1)
    for (const header of ['Forwarded', 'traceparent', 'tracestate']) {
      expect(locations[0]).toMatch(new RegExp(`^ +proxy_set_header ${header} "";$`, 'm'))
    }
  }
)

test('Caddy removes trace contexts of clients before both services', () => {
  const [, upstream = '', sites = ''] =
    /^\(upstream\) \{\n([\s\S]*?)^\}\n([\s\S]*)/m.exec(read('infra/docker/Caddyfile')) ?? []
  for (const header of ['Forwarded', 'Traceparent', 'Tracestate'])
    expect(upstream).toContain(`\theader_up -${header}\n`)
  expect(sites.match(/reverse_proxy /g)).toHaveLength(2)
  expect(sites.match(/reverse_proxy \S+ \{\n\t\timport upstream\n/g)).toHaveLength(2)
})
