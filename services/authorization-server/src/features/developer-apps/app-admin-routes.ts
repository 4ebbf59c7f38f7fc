import type { FastifyPluginAsync } from 'fastify'
import { authorOf } from '../../operator/http/authenticate-operator.js'
import {
  jsonResponse,
  next,
  object,
  pageParameters,
  problemResponses,
  recordId,
  text,
  time
} from '../../operator/http/response-schemas.js'
import { membersOfKind } from '../../operator/use-cases/client-members.js'
import { settingsOfKind } from '../../storage/client-settings-table.js'
import type { Page } from '../../storage/postgres/page.js'
import { type AppAdministration, approveApp, disableApp, findApp, listApps, refuseApp } from './administer-apps.js'
import { appDocument, appSummaryDocument } from './app-document.js'

type Params = { Params: { client_id: string } }

const flag = (description: string) => ({ type: 'boolean', description }) as const
const revision = { type: 'integer', minimum: 1, maximum: 2_147_483_647, description: 'Raised by each change.' } as const
const state = {
  type: 'string',
  enum: ['draft', 'requested', 'approved', 'disabled'],
  description: 'A draft or requested app works only for its owners and testers.'
} as const
const clientId = text('The client id.')
const requestedAt = time('Since when the app or its pending change waits for approval; absent if it does not.')

/** A document may lack them. */
const branding = {
  ...membersOfKind(['text', 'url'], () => text('Absent if there is none.')),
  logo: text('SHA-256 of the logo, at /admin/logos/HASH; absent if there is none.')
}
const BRANDING = settingsOfKind('text', 'url', 'logo').map(({ member }) => member)

const settings = {
  name: text('The name on the consent page.'),
  redirect_uris: { type: 'array', items: { type: 'string' }, description: 'Redirect URIs.' },
  scope: text('Required scopes, separated by spaces.'),
  optional_scope: text('Scopes that the user may decline, separated by spaces.'),
  ...branding
} as const

const summary = object(
  {
    client_id: clientId,
    name: settings.name,
    state,
    revision,
    pending_change: flag('A change of the approved app is not in effect.'),
    requested_at: requestedAt
  },
  ['requested_at']
)

const owner = object({
  user_id: recordId('The user.'),
  username: text('The user name.'),
  disabled: flag('The user is disabled.')
})

const app = object(
  {
    client_id: clientId,
    type: { type: 'string', enum: ['confidential', 'public'], description: 'RFC 6749 §2.1.' },
    state,
    revision,
    ...settings,
    pending: { ...object(settings, BRANDING), description: 'A change that is not in effect.' },
    verified: flag('Whether an operator has verified who runs it.'),
    owners: { type: 'array', items: owner },
    testers: { type: 'array', items: { type: 'string' }, description: 'User names; such a user need not exist.' },
    created_at: time('UTC.'),
    requested_at: requestedAt,
    decided_at: time('When an operator last decided; absent before.'),
    refusal: text('Why the last request was refused; absent if it was not.')
  },
  [...BRANDING, 'pending', 'requested_at', 'decided_at', 'refusal']
)

const params = object({ client_id: clientId })
const appResponse = { 200: jsonResponse('The app.', app), ...problemResponses }

const listSchema = {
  operationId: 'listApps',
  summary: 'List apps that users registered, by id, in pages',
  querystring: object({ waiting: flag('Only apps that wait for approval, or whose change does.'), ...pageParameters }, [
    'waiting',
    'limit',
    'after'
  ]),
  response: {
    200: jsonResponse('A page of apps.', object({ apps: { type: 'array', items: summary }, next }, ['next'])),
    ...problemResponses
  }
}

/** `/admin/apps` */
export const appRoutes: FastifyPluginAsync<AppAdministration> = async (admin, deps) => {
  admin.get<{ Querystring: Page & { waiting?: boolean } }>('/apps', { schema: listSchema }, async ({ query }) => {
    const { entries, next: place } = await listApps(query, query.waiting ?? false, deps)
    return { apps: entries.map(appSummaryDocument), next: place }
  })

  const getSchema = {
    operationId: 'getApp',
    summary: 'Get an app that a user registered',
    params,
    response: appResponse
  }
  admin.get<Params>('/apps/:client_id', { schema: getSchema }, async (request) =>
    appDocument(await findApp(request.params.client_id, deps))
  )

  const approveSchema = {
    operationId: 'approveApp',
    summary: 'Publish an app, or make its pending change take effect; refused if the app has another revision',
    params,
    body: object({ revision, verified: flag('Also mark it as verified; default false.') }, ['verified']),
    response: appResponse
  }
  admin.post<Params & { Body: { revision: number; verified?: boolean } }>(
    '/apps/:client_id/approve',
    { schema: approveSchema },
    async (request) => {
      const { revision: seen, verified = false } = request.body
      const command = { clientId: request.params.client_id, revision: seen, verified }
      return appDocument(await approveApp(command, authorOf(request), deps))
    }
  )

  const refuseSchema = {
    operationId: 'refuseApp',
    summary: 'Refuse an app or its pending change; its developer reads the reason',
    params,
    body: object({ revision, reason: text('1 to 500 characters.') }, ['revision']),
    response: appResponse
  }
  admin.post<Params & { Body: { revision?: number; reason: string } }>(
    '/apps/:client_id/refuse',
    { schema: refuseSchema },
    async (request) => {
      const command = { clientId: request.params.client_id, ...request.body }
      return appDocument(await refuseApp(command, authorOf(request), deps))
    }
  )

  const disableSchema = {
    operationId: 'disableApp',
    summary: 'Disable an app and end all its tokens permanently; safe to repeat',
    params,
    response: appResponse
  }
  admin.post<Params>('/apps/:client_id/disable', { schema: disableSchema }, async (request) =>
    appDocument(await disableApp(request.params.client_id, authorOf(request), deps))
  )
}
