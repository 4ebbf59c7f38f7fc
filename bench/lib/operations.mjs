// The requests of each measured operation. They are the same for every contender.

import { openConnections, requestText } from './connections.mjs'
import { FILES, REDIRECT_URI } from './test-data.mjs'

/**
 * @param target result of startValetkey or startRival; `pageSize`: the number of files in a page
 * @returns `close`, and a function for each operation, which sends one request, checks the response and returns its
 *   content. Connections are opened when needed.
 */
export function operationsOf(target) {
  const { codeUrl, tokenUrl, revokeUrl, introspectUrl, filesUrl } = target
  const { pageSize = FILES, cookie, client, resourceServer } = target
  const origins = new Map()
  for (const { origin } of [codeUrl, tokenUrl, introspectUrl, filesUrl].map((url) => new URL(url))) {
    if (!origins.has(origin)) origins.set(origin, openConnections(origin))
  }
  const to = (url) => origins.get(new URL(url).origin)
  const [code, token, introspection, files] = [codeUrl, tokenUrl, introspectUrl, filesUrl].map(to)

  const authorizationOf = (session, url = codeUrl) => requestText(url, { headers: { cookie: session } })
  const authorization = authorizationOf(cookie)
  const credentials = new URLSearchParams({ client_id: client.id, client_secret: client.secret })
  const redirect = new URLSearchParams({ redirect_uri: REDIRECT_URI })
  const caller = `Basic ${Buffer.from(`${resourceServer.id}:${resourceServer.secret}`).toString('base64')}`
  const exchangeForm = (authorizationCode) =>
    `grant_type=authorization_code&${credentials}&${redirect}&code=${authorizationCode}`
  const post = (url, form) => token.send(requestText(url, { form }))
  let isFirstPage = true

  const operations = {
    authorizationOf,
    authorize: () => operations.authorizeBy(authorization),
    /** @param request of `authorizationOf`, for the session of another user */
    async authorizeBy(request) {
      const answer = await code.send(request)
      const location = /\r\nlocation: *([^\r]+)/i.exec(answer.head)?.[1] ?? ''
      const found = /[?&]code=([^&]+)/.exec(location)?.[1]
      const isRedirect = answer.status === 302 || answer.status === 303
      return found !== undefined && isRedirect && location.startsWith(REDIRECT_URI) ? found : refuse(answer)
    },
    exchange: async (authorizationCode) =>
      tokenIn(await post(tokenUrl, exchangeForm(authorizationCode)), 'access_token'),
    /** @returns the access token and the refresh token */
    exchangeForBoth: async (authorizationCode) => tokensIn(await post(tokenUrl, exchangeForm(authorizationCode))),
    /** @returns the new access token and refresh token */
    refresh: async (refreshToken) =>
      tokensIn(await post(tokenUrl, `grant_type=refresh_token&${credentials}&refresh_token=${refreshToken}`)),
    async revoke(accessToken) {
      const answer = await post(revokeUrl, `${credentials}&token=${accessToken}`)
      return answer.status === 200 ? undefined : refuse(answer)
    },
    async introspect(accessToken) {
      const headers = { authorization: caller }
      const answer = await introspection.send(requestText(introspectUrl, { headers, form: `token=${accessToken}` }))
      const isActive = answer.status === 200 && /"active": ?true/.test(answer.body)
      return isActive ? undefined : refuse(answer)
    },
    async files(accessToken) {
      const answer = await files.send(requestText(filesUrl, { headers: { authorization: `Bearer ${accessToken}` } }))
      // Parsing every page would cost too much processor time.
      const isPage =
        answer.status === 200 && answer.body.startsWith('{"files":[{') && (!isFirstPage || isFull(answer, pageSize))
      isFirstPage = false
      return isPage ? undefined : refuse(answer)
    },
    async flow() {
      await operations.files(await operations.exchange(await operations.authorize()))
    },
    close() {
      for (const connections of origins.values()) connections.close()
    }
  }
  return operations
}

function tokensIn(answer) {
  return { accessToken: tokenIn(answer, 'access_token'), refreshToken: tokenIn(answer, 'refresh_token') }
}

function tokenIn(answer, name) {
  const found = new RegExp(`"${name}": ?"([^"]+)"`).exec(answer.body)?.[1]
  return answer.status === 200 && found !== undefined ? found : refuse(answer)
}

const isFull = ({ body }, pageSize) => JSON.parse(body).files.length === pageSize

function refuse({ head, body }) {
  throw new Error(`not the answer that was expected:\n${head}\n\n${body.slice(0, 500)}`)
}
