import { Pool } from 'undici'
import { sendAll } from './send-all.mjs'
import { REDIRECT_URI } from './test-data.mjs'

/** Issues access tokens, each by its own authorization code. */
export async function collectAccessTokens(valetkey, count) {
  const { codeUrl, tokenUrl, cookie, client } = valetkey
  const pool = new Pool(new URL(tokenUrl).origin, { connections: 16 })
  const tokens = []
  await sendAll(async () => tokens.push(await redeem(await requestCode())), { count, senders: 16 })
  await pool.close()
  return tokens

  async function requestCode() {
    const { pathname, search } = new URL(codeUrl)
    const { statusCode, headers, body } = await pool.request({
      method: 'GET',
      path: pathname + search,
      headers: { cookie }
    })
    await body.dump()
    const code = new URL(String(headers.location ?? ''), codeUrl).searchParams.get('code')
    if (code === null) throw new Error(`no code: ${statusCode} ${headers.location}`)
    return code
  }

  async function redeem(code) {
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI }
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: new URL(tokenUrl).pathname,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...form, client_id: client.id, client_secret: client.secret }).toString()
    })
    const answer = await body.json()
    if (statusCode !== 200) throw new Error(`no token: ${statusCode} ${JSON.stringify(answer)}`)
    return answer.access_token
  }
}
