// The browser of a cell: authorization requests, Allow and sign-in.
import { createHash } from 'node:crypto'
import { REDIRECT_URI } from '../../packages/dev-stack/lib/services/register.mjs'
import { formIn } from './http.mjs'

/** @import { Answer } from './http.mjs' */
/** @import { Moment } from './history.mjs' */
/** @import { How, Place } from './cell.mjs' */

/** @param {Place} place */
export function createBrowsing({ world, user, client, history, codes }) {
  /** Sign-ins of one user follow each other. @param {number} server @returns {Promise<string>} the session; empty: none */
  function session(server) {
    const opened = user.lock.then(async () => {
      if (user.session !== '') return
      const start = world.now()
      if (!(await world.signIn(user, client.start, server))) return
      user.session = `s${history.newId()}`
      history.note(start, { kind: 'sign_in', session: user.session })
    })
    user.lock = opened
    return opened.then(() => user.session)
  }

  /** @param {string} used the session of an answer that leads to sign-in */
  function forget(used) {
    if (user.session === used) user.session = ''
  }

  /** @param {string} value */
  async function addCode(value) {
    const key = `vk:code:${createHash('sha256').update(value).digest('hex')}`
    const code = {
      name: history.nameOf('c', value),
      value,
      key,
      isUsed: false,
      isCopied: false,
      isLeft: false,
      begun: 0,
      open: 0
    }
    codes.push(code)
    // A copy of every second code, to be restored later.
    if (codes.length % 2 === 0) code.isCopied = (await world.tellRedis(`COPY ${key} copy:${key}`)).includes(':1')
  }

  /**
   * @param {'authorize' | 'allow'} kind
   * @param {Moment} start
   * @param {string} used the session
   * @param {Answer} answer
   */
  async function noteOutcome(kind, start, used, answer) {
    const outcome = outcomeOf(answer)
    if (typeof outcome === 'object') {
      const name = history.nameOf('c', outcome.code)
      const id = history.note(start, { kind, session: used, outcome: 'code', code: name })
      if (kind === 'allow') history.note(start, { kind: 'remember', allow: id })
      await addCode(outcome.code)
      return 'code'
    }
    if (outcome === 'sign_in') {
      history.note(start, { kind, session: used, outcome })
      forget(used)
    }
    if (outcome === 'asked' && kind === 'authorize') history.note(start, { kind, session: used, outcome })
    if (kind === 'allow' && outcome !== 'sign_in' && outcome !== 'denied' && answer.kind !== 'unsent') {
      const id = history.noteUnknown(start, { kind, session: used, outcome: 'unknown' })
      history.noteUnknown(start, { kind: 'remember', allow: id })
    }
    return outcome
  }

  return {
    /** @param {How} how */
    async authorize({ server }) {
      const used = await session(server)
      const start = world.now()
      if (used === '' || used !== user.session) return 'other'
      return noteOutcome('authorize', start, used, await user.jar.visit(world.portsOf(server).publicPort, client.start))
    },

    /** @param {How} how */
    async allow({ server }) {
      const { publicPort } = world.portsOf(server)
      await session(server)
      const asked = await user.jar.visit(publicPort, `${client.start}&prompt=consent`)
      if (outcomeOf(asked) !== 'asked' || asked.kind !== 'answer') return 'other'
      const page = await user.jar.visit(publicPort, asked.location)
      const { action, fields } = formIn(page.kind === 'answer' ? page.body : '')
      const used = user.session
      const start = world.now()
      if (action === '' || used === '' || !action.includes('consent')) return 'other'
      return noteOutcome(
        'allow',
        start,
        used,
        await user.jar.visit(publicPort, action, { ...fields, decision: 'allow' })
      )
    }
  }
}

/** @param {Answer} answer @returns {{ code: string } | 'asked' | 'sign_in' | 'denied' | 'other'} */
function outcomeOf(answer) {
  if (answer.kind !== 'answer' || answer.status !== 303) return 'other'
  const { pathname, searchParams, href } = new URL(answer.location, REDIRECT_URI)
  const code = href.startsWith(REDIRECT_URI) ? searchParams.get('code') : null
  if (code !== null) return { code }
  if (pathname.endsWith('/consent')) return 'asked'
  if (pathname.endsWith('/login')) return 'sign_in'
  return searchParams.get('error') === 'access_denied' ? 'denied' : 'other'
}
