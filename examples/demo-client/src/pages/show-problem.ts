import type { FastifyReply } from 'fastify'
import { type ProblemName, problems } from './problems.js'

const RETRY_AFTER_SECONDS = 30
const LONGEST_DETAIL = 80

type More = { detail?: string | undefined; connected?: boolean }

/** Answers with the page for a problem, its status, and the way on. */
export function showProblem(reply: FastifyReply, name: ProblemName, more: More = {}): FastifyReply {
  const { status, title, text, next } = problems[name]
  if (status === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
  return reply.code(status).view('problem.hbs', {
    title,
    text,
    detail: more.detail?.slice(0, LONGEST_DETAIL),
    connected: more.connected ?? false,
    offersConnect: next === 'connect',
    offersFiles: next === 'files'
  })
}
