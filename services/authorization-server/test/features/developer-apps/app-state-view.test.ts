import { expect, test } from '@jest/globals'
import { appStateView } from '../../../src/features/developer-apps/app-state-view.js'

const DRAFT = { state: 'draft', requestedAt: undefined, refusal: undefined, hasPendingChange: false } as const
const at = new Date(0)

test.each([
  { name: 'a new app', app: DRAFT, state: 'draft' },
  { name: 'an app that was refused', app: { ...DRAFT, refusal: 'No.' }, state: 'refused' },
  { name: 'a request', app: { ...DRAFT, state: 'requested', requestedAt: at }, state: 'requested' },
  { name: 'an approved app', app: { ...DRAFT, state: 'approved' }, state: 'approved' },
  { name: 'an app without approval', app: { ...DRAFT, state: 'approved' }, mode: 'open', state: 'open' },
  {
    name: 'a change that waits',
    app: { ...DRAFT, state: 'approved', hasPendingChange: true, requestedAt: at },
    state: 'change_requested'
  },
  {
    name: 'a change that was refused',
    app: { ...DRAFT, state: 'approved', hasPendingChange: true, refusal: 'No.' },
    state: 'change_refused'
  },
  { name: 'a disabled app', app: { ...DRAFT, state: 'disabled', hasPendingChange: true }, state: 'disabled' }
] as const)('state of $name', (each) => {
  expect(appStateView(each.app, 'mode' in each ? each.mode : 'approved').state).toBe(`developer.state_${each.state}`)
})
