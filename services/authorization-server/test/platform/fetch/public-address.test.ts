import { describe, expect, test } from '@jest/globals'
import { isLoopbackAddress, isPublicAddress } from '../../../src/platform/fetch/public-address.js'

/** Every range of the IANA special-purpose registries (RFC 6890), with addresses at both of its ends. */
const SPECIAL = [
  ['0.0.0.0/8', '0.0.0.0', '0.255.255.255'],
  ['10.0.0.0/8', '10.0.0.0', '10.255.255.255'],
  ['100.64.0.0/10', '100.64.0.0', '100.127.255.255'],
  ['127.0.0.0/8', '127.0.0.1', '127.255.255.255'],
  ['169.254.0.0/16', '169.254.169.254', '169.254.255.255'],
  ['172.16.0.0/12', '172.16.0.0', '172.31.255.255'],
  ['192.0.0.0/24', '192.0.0.0', '192.0.0.255'],
  ['192.0.2.0/24', '192.0.2.0', '192.0.2.255'],
  ['192.31.196.0/24', '192.31.196.0', '192.31.196.255'],
  ['192.52.193.0/24', '192.52.193.0', '192.52.193.255'],
  ['192.88.99.0/24', '192.88.99.0', '192.88.99.255'],
  ['192.168.0.0/16', '192.168.0.0', '192.168.255.255'],
  ['192.175.48.0/24', '192.175.48.0', '192.175.48.255'],
  ['198.18.0.0/15', '198.18.0.0', '198.19.255.255'],
  ['198.51.100.0/24', '198.51.100.0', '198.51.100.255'],
  ['203.0.113.0/24', '203.0.113.0', '203.0.113.255'],
  ['multicast 224.0.0.0/4', '224.0.0.0', '239.255.255.255'],
  ['240.0.0.0/4', '240.0.0.0', '255.255.255.254'],
  ['255.255.255.255/32', '255.255.255.255', '255.255.255.255'],
  ['::/128 and ::1/128', '::', '::1'],
  ['IPv4-compatible ::/96', '::7f00:1', '::ffff:ffff'],
  ['IPv4-mapped ::ffff:0:0/96', '::ffff:127.0.0.1', '::ffff:8.8.8.8'],
  ['IPv4-translated ::ffff:0:0:0/96', '::ffff:0:127.0.0.1', '::ffff:0:8.8.8.8'],
  ['NAT64 64:ff9b::/96', '64:ff9b::7f00:1', '64:ff9b::ffff:ffff'],
  ['local NAT64 64:ff9b:1::/48', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['100::/64', '100::', '100::ffff:ffff:ffff:ffff'],
  ['100:0:0:1::/64', '100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff'],
  ['2001::/23', '2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['Teredo 2001::/32', '2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['benchmarks 2001:2::/48', '2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
  ['ORCHID 2001:10::/28', '2001:10::', '2001:1f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['ORCHIDv2 2001:20::/28', '2001:20::', '2001:2f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2001:db8::/32', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['6to4 2002::/16', '2002:7f00:1::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['2620:4f:8000::/48', '2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  ['3fff::/20', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['5f00::/16', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['unassigned 4000::/3', '4000::', '4fff:ffff::'],
  ['fc00::/7', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fe80::/10', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['site-local fec0::/10', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['multicast ff00::/8', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']
] as const

describe('public addresses (draft-ietf-oauth-client-id-metadata-document-02 §8.6)', () => {
  test.each(SPECIAL)('%s is refused at both ends', (_range, first, last) => {
    expect([isPublicAddress(first), isPublicAddress(last)]).toEqual([false, false])
  })

  test.each(['8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0'])(
    '%s, beside a special range, is accepted',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    }
  )

  test.each(['2606:4700::1111', '2a00:1450:4001::', '2001:200::', '2003::', '2620:4f:8001::'])(
    '%s is accepted',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    }
  )

  test.each(['', 'localhost', '8.8.8.8.example', 'fe80::1%eth0', '2606:4700::1111%eth0', '[::1]'])(
    '%j, which is no plain address, is refused',
    (text) => {
      expect(isPublicAddress(text)).toBe(false)
    }
  )
})

test.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['10.0.0.1', false],
  ['8.8.8.8', false],
  ['localhost', false]
])('isLoopbackAddress: %s is %s', (address, expected) => {
  expect(isLoopbackAddress(address)).toBe(expected)
})
