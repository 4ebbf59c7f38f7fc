import { expect, test } from '@jest/globals'
import { createUrlRule } from '../src/allowed-url.js'

test.each([
  { issuer: 'https://as.example', url: 'https://as.example/token', refused: undefined },
  { issuer: 'http://127.0.0.1:4000', url: 'http://localhost:4100/', refused: undefined },
  { issuer: 'https://as.example', url: 'http://as.example/token', refused: 'neither https nor http on loopback' },
  { issuer: 'https://as.example', url: 'file:///etc/passwd', refused: 'neither https nor http on loopback' },
  { issuer: 'https://as.example', url: 'https://other.example/token', refused: '--allow-host other.example' },
  { issuer: 'https://as.example', url: 'https://tokens.example/token', refused: undefined },
  // A server elsewhere must not make this machine call its own services.
  { issuer: 'https://as.example', url: 'http://127.0.0.1:9200/', refused: '--allow-host 127.0.0.1' },
  { issuer: 'http://127.0.0.1:4000', url: 'https://other.example/', refused: '--allow-host other.example' },
  { issuer: 'http://127.0.0.1:4000', url: 'http://127.0.0.1.other.example/', refused: 'neither https nor http' }
])('for the issuer $issuer, the reason to refuse a call of $url is $refused', ({ issuer, url, refused }) => {
  const reason = createUrlRule([new URL(issuer)], ['tokens.example'])(new URL(url))
  if (refused === undefined) expect(reason).toBeUndefined()
  else expect(reason).toContain(refused)
})
