import type { FastifyPluginAsync } from 'fastify'
import { formOf } from '../../platform/request-parts.js'
import { decideInvitation, inviteOwner, removeOwner, withdrawInvitation } from './app-owners.js'
import { showApp } from './app-page.js'
import { addTester, removeTester } from './app-testers.js'
import { type AppRequest, appUrl, type DeveloperPageOptions, mayStore, refuse, userOfForm } from './developer-page.js'
import type { Actor, Refused } from './own-apps.js'

const PATH = '/account/developer/apps/:id'

type Sent = { clientId: string; username: string; userId: string; transfers: boolean }
type Outcome =
  | { kind: 'done' | 'invited' }
  | { kind: 'malformed_name' | 'is_owner' | 'too_many' | 'last_owner' | 'too_many_changes' }
  | Refused

type Change = {
  path: string
  at: 'owners' | 'testers'
  condition: 'must_be_fresh' | 'any_session'
  done: string
  run: (sent: Sent, actor: Actor, options: DeveloperPageOptions) => Promise<Outcome>
}

const CHANGES: readonly Change[] = [
  { path: 'owners', at: 'owners', condition: 'must_be_fresh', done: 'invited', run: inviteOwner },
  { path: 'owners/withdraw', at: 'owners', condition: 'any_session', done: 'removed', run: withdrawInvitation },
  { path: 'owners/remove', at: 'owners', condition: 'must_be_fresh', done: 'removed', run: removeOwner },
  { path: 'testers', at: 'testers', condition: 'any_session', done: 'added', run: addTester },
  { path: 'testers/remove', at: 'testers', condition: 'any_session', done: 'removed', run: removeTester }
]

const PROBLEMS = {
  malformed_name: 'developer.person_malformed',
  is_owner: 'developer.person_is_owner',
  too_many: 'developer.person_too_many',
  last_owner: 'developer.person_last_owner',
  too_many_changes: 'developer.too_many_changes'
}

const TOO_MANY_CHANGES = { kind: 'too_many_changes' } as const

/** Owners, invitations to become one, and test users. No response reveals whether a user exists. */
export const peopleRoutes: FastifyPluginAsync<DeveloperPageOptions> = async (pages, options) => {
  const { issuer } = options

  for (const { path, at, condition, done, run } of CHANGES) {
    pages.post(`${PATH}/${path}`, { config: { isEnding: done === 'removed' } }, async (request: AppRequest, reply) => {
      const { id: clientId } = request.params
      const user = userOfForm(request, reply, `developer/apps/${clientId}`, options, condition)
      if (user === undefined) return reply
      const form = formOf(request)
      const username = form.get('username') ?? ''
      const sent = { clientId, username, userId: form.get('user_id') ?? '', transfers: form.get('transfers') === 'on' }
      // Without a limit, a draft could be shown to every user, one after the other.
      const isNew = done === 'invited' || done === 'added'
      const outcome =
        isNew && !(await mayStore(user, options)) ? TOO_MANY_CHANGES : await run(sent, { user, request }, options)
      switch (outcome.kind) {
        case 'unknown_app':
        case 'session_ended':
          return refuse(outcome, request, reply, options)
        case 'invited':
        case 'done':
          // An owner who removed themselves does not see the app any more.
          if (sent.userId === user.userId) return reply.redirect(`${issuer}/account/developer?done=left`, 303)
          return reply.redirect(`${appUrl(issuer, clientId)}?done=${done}`, 303)
        default: {
          const problem = { at, message: { key: PROBLEMS[outcome.kind] }, typed: username }
          return showApp({ user, clientId, problem }, request, reply, options)
        }
      }
    })
  }

  pages.post('/account/developer/invitations', async (request, reply) => {
    const user = userOfForm(request, reply, 'developer', options, 'any_session')
    if (user === undefined) return reply
    const clientId = formOf(request).get('client_id') ?? ''
    const accept = formOf(request).get('answer') === 'accept'
    const outcome = await decideInvitation({ clientId, accept }, { user, request }, options)
    if (outcome.kind === 'session_ended') return refuse(outcome, request, reply, options)
    // Sent twice, or the invitation was withdrawn: the list shows the present state.
    return reply.redirect(
      `${issuer}/account/developer${accept && outcome.kind === 'done' ? '?done=accepted' : ''}`,
      303
    )
  })
}
