import { describe, expect, test } from '@jest/globals'
import { appBadge } from '../../../src/platform/clients/app-badge.js'

const ISSUER = 'https://auth.example'
const CLIENT = { clientId: 'client-1', name: 'Photo Printer', verified: true, branding: {} }
const BRANDING = {
  homePage: 'https://app.example/',
  publisher: 'Example GmbH',
  privacyPolicy: 'https://app.example/privacy',
  terms: 'https://app.example/terms',
  logo: 'a0'.repeat(32)
}

describe('the badge', () => {
  test('of a registered client has its branding, and the logo at this server', () => {
    const { logo, ...texts } = BRANDING
    expect(appBadge({ ...CLIENT, branding: BRANDING }, ISSUER)).toEqual({
      name: 'Photo Printer',
      initials: 'PP',
      verified: true,
      logoUrl: `${ISSUER}/logos/${logo}.png`,
      ...texts
    })
  })

  test('has every member, because templates are strict', () => {
    expect(Object.keys(appBadge(CLIENT, ISSUER))).toEqual(
      Object.keys(appBadge({ ...CLIENT, branding: BRANDING }, ISSUER))
    )
  })

  test('of a discovered client has the host of its id, and nothing that its document says', () => {
    const clientId = 'https://boat.example:8443/client.json'
    const badge = appBadge({ clientId, name: 'Photo Printer', verified: true, branding: BRANDING }, ISSUER)
    expect(badge).toEqual({ name: 'boat.example:8443', initials: 'B', verified: false })
  })
})

test.each([
  { name: 'Photo Printer', initials: 'PP' },
  { name: 'photo printer for you', initials: 'PP' },
  { name: 'Photos', initials: 'P' },
  { name: '  — “Photo”  (Printer)', initials: 'PP' },
  { name: '3D Druck', initials: '3D' },
  { name: 'éclair', initials: 'É' },
  { name: 'e\u0301clair', initials: 'E\u0301' },
  { name: 'Z\u0335\u0336\u0337\u0338\u0334 Zalgo', initials: 'Z\u0335\u0336Z' },
  { name: 'طابعة الصور', initials: 'ط\u200cا' },
  { name: '写真 印刷', initials: '写印' },
  { name: '👩‍👩‍👧‍👦 Album', initials: '👩‍👩‍👧‍👦A' },
  { name: '🇩🇪 Druck', initials: '🇩🇪D' },
  { name: '❤️‍🔥', initials: '❤️‍🔥' },
  { name: '***', initials: '*' }
])('initials of $name', ({ name, initials }) => {
  expect(appBadge({ ...CLIENT, name }, ISSUER).initials).toBe(initials)
})
