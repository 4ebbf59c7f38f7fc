// An Express API with the guard and its cache, as an author of an API writes it. Started with `fork`: sends its port, and ends with
// its parent. Settings: ISSUER, RESOURCE_URL, INTROSPECTION_URL, REVOCATIONS_URL, CLIENT_ID, CLIENT_SECRET,
// DPOP (off or required).
import { createGuard } from '@valetkey/guard'
import { requireAccessToken } from '@valetkey/guard/node'
import express from 'express'

const { env } = process
const guard = createGuard({
  issuer: env.ISSUER,
  resource: env.RESOURCE_URL,
  scopesSupported: ['files.read'],
  introspection: { url: env.INTROSPECTION_URL, clientId: env.CLIENT_ID, clientSecret: env.CLIENT_SECRET },
  cache: { seconds: 60, revocationsUrl: env.REVOCATIONS_URL },
  ...(env.DPOP === 'required' && { dpop: { mode: 'required' } })
})

const app = express()
app.get('/v1/files', requireAccessToken(guard, 'files.read'), (_request, response) => {
  response.json({ files: [] })
})
const listener = app.listen(0, '127.0.0.1', () => process.send({ port: listener.address().port }))
process.on('disconnect', () => process.exit(0))
