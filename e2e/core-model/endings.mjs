// Every way to end access, in a cell.
import { basic, formIn, send } from './http.mjs'

/** @import { Answer } from './http.mjs' */
/** @import { Fields, Moment } from './history.mjs' */
/** @import { Observed } from './model-state.mjs' */
/** @import { How, Place, Tokens } from './cell.mjs' */

/** @param {Place} place */
export function createEndings({ world, user, client, history, marks }) {
  const { client_id: clientId } = client
  const { userId } = user

  /**
   * @param {Moment} start
   * @param {Fields<Observed>} fields
   * @param {Answer} answer
   * @returns {boolean} false if the outcome is unknown
   */
  function note(start, fields, answer) {
    const isDone = answer.kind === 'answer' && answer.status < 400
    const isUnknown = answer.kind === 'unknown' || (answer.kind === 'answer' && answer.status >= 500)
    if (isDone) history.note(start, fields)
    else if (isUnknown) history.noteUnknown(start, fields)
    return !isUnknown
  }

  /** An ending of the user, whose next cell must not see it. @param {Moment} start @param {Fields<Observed>} fields @param {Answer} answer */
  function noteOfUser(start, fields, answer) {
    if (fields.kind === 'end_user') marks.endedUser = true
    if (!note(start, fields, answer)) marks.mayEndUser = true
  }

  /** @param {string} token @param {How} how */
  function revoke(token, { server, cutAfterMs }) {
    return send(world.portsOf(server).publicPort, 'POST', '/oauth/revoke', {
      headers: basic(client),
      form: { token },
      cutAfterMs
    })
  }

  return {
    /** @param {Tokens} tokens @param {How} how */
    async revoke_access({ access, accessName }, how) {
      const start = world.now()
      note(start, { kind: 'revoke_access', token: accessName }, await revoke(access, how))
    },

    /** @param {Tokens} tokens @param {How} how */
    async revoke_refresh({ refresh, refreshName }, how) {
      const start = world.now()
      note(start, { kind: 'revoke_refresh', token: refreshName }, await revoke(refresh, how))
    },

    /** @param {Tokens} tokens @param {How} how */
    async end_grant({ accessName, grantId }, { server }) {
      if (grantId === undefined) return
      const start = world.now()
      note(
        start,
        { kind: 'end_grant', token: accessName },
        await world.administer(server, 'DELETE', `/grants/${grantId}`)
      )
    },

    /** @param {How} how */
    async end_app({ server }) {
      const { publicPort } = world.portsOf(server)
      const page = await user.jar.visit(publicPort, `/account/apps/end?client_id=${clientId}`)
      const { action, fields } = formIn(page.kind === 'answer' && page.status === 200 ? page.body : '')
      if (!action.includes('/account/apps')) return
      const start = world.now()
      const answer = await user.jar.visit(publicPort, action, fields)
      // The session may have ended since the page was shown; the redirect to sign-in comes without a change.
      if (answer.kind === 'answer' && /\/login\b/.test(answer.location)) return
      note(start, { kind: 'end_authorization' }, answer)
    },

    /** @param {How} how */
    async end_pair({ server }) {
      const start = world.now()
      const body = { user_id: userId, client_id: clientId }
      note(start, { kind: 'end_authorization' }, await world.administer(server, 'POST', '/grants/revoke', body))
    },

    /** @param {How} how */
    async end_of_user({ server }) {
      const start = world.now()
      const answer = await world.administer(server, 'POST', '/grants/revoke', { user_id: userId })
      noteOfUser(start, { kind: 'end_authorization' }, answer)
    },

    /** @param {How} how */
    async end_to_client({ server }) {
      const start = world.now()
      const answer = await world.administer(server, 'POST', '/grants/revoke', { client_id: clientId })
      note(start, { kind: 'end_authorization' }, answer)
    },

    /** @param {How} how */
    async global_revocation({ server }) {
      const start = world.now()
      const body = { sub_id: { format: 'opaque', id: userId } }
      noteOfUser(start, { kind: 'end_user' }, await world.administer(server, 'POST', '/global-token-revocation', body))
    },

    /** @param {How} how */
    async disable_user({ server }) {
      const start = world.now()
      noteOfUser(start, { kind: 'end_user' }, await world.administer(server, 'POST', `/users/${userId}/disable`))
      await world.make(`/users/${userId}/enable`)
    },

    /** @param {How} how */
    async disable_client({ server }) {
      const start = world.now()
      note(start, { kind: 'end_client' }, await world.administer(server, 'POST', `/clients/${clientId}/disable`))
      await world.make(`/clients/${clientId}/enable`)
    }
  }
}
