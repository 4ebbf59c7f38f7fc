import type { OAuthErrorCode } from '@valetkey/oauth-protocol'
import type { FastifyRequest } from 'fastify'
import type { SentRefusal } from './send-oauth-error.js'

export type RefusedAuthorization = {
  reason: string
  /** Undefined for an error page. */
  sent?: { error: OAuthErrorCode; description: string }
  /** The detail of a refused document of the client. */
  detail?: string | undefined
}

/** Receives refused requests. Its functions never fail and never wait. */
export type RefusalObserver = {
  authorizationRefused(request: FastifyRequest, refused: RefusedAuthorization): void
  /** A refusal of an endpoint that responds with JSON, such as `/token`. */
  requestRefused(request: FastifyRequest, refused: SentRefusal): void
}

/** Passes each refusal to all observers. */
export function observeRefusals(observers: readonly RefusalObserver[]): RefusalObserver {
  return {
    authorizationRefused(request, refused) {
      for (const observer of observers) observer.authorizationRefused(request, refused)
    },
    requestRefused(request, refused) {
      for (const observer of observers) observer.requestRefused(request, refused)
    }
  }
}
