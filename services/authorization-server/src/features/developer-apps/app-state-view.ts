import type { DeveloperApp } from './developer-app-store.js'
import type { OwnAppDeps } from './own-apps.js'

type Situation = Pick<DeveloperApp, 'state' | 'requestedAt' | 'refusal'> & { hasPendingChange: boolean }

/** Keys of the texts, and the tone: the suffix of a class. */
export type AppStateView = { state: string; nextStep: string; tone: '' | 'good' | 'bad' }

/** What a state means for the owner of the app. */
export function appStateView(app: Situation, mode: OwnAppDeps['mode']): AppStateView {
  switch (app.state) {
    case 'disabled':
      return { state: 'developer.state_disabled', nextStep: 'developer.next_disabled', tone: 'bad' }
    case 'requested':
      return { state: 'developer.state_requested', nextStep: 'developer.next_requested', tone: '' }
    case 'draft':
      if (app.refusal !== undefined)
        return { state: 'developer.state_refused', nextStep: 'developer.next_refused', tone: 'bad' }
      return {
        state: 'developer.state_draft',
        nextStep: mode === 'open' ? 'developer.next_draft_open' : 'developer.next_draft',
        tone: ''
      }
    case 'approved':
      return approvedView(app, mode)
  }
}

function approvedView(app: Situation, mode: OwnAppDeps['mode']): AppStateView {
  if (app.hasPendingChange && app.requestedAt !== undefined)
    return { state: 'developer.state_change_requested', nextStep: 'developer.next_change_requested', tone: '' }
  if (app.hasPendingChange)
    return { state: 'developer.state_change_refused', nextStep: 'developer.next_change_refused', tone: 'bad' }
  const state = mode === 'open' ? 'developer.state_open' : 'developer.state_approved'
  return { state, nextStep: 'developer.next_approved', tone: 'good' }
}
