// Serves what an example of the README exports: node serve-readme.mjs <name>. Prints the address.
import { createServer } from 'node:http'

const exported = await import(`./out/readme/${process.argv[2]}.js`)

/** A server of node:http that passes requests on as `Request`. */
function serveFetch(fetch) {
  return createServer(async (request, response) => {
    const { authorization } = request.headers
    const url = `http://${request.headers.host}${request.url}`
    const answer = await fetch(new Request(url, { headers: authorization === undefined ? {} : { authorization } }))
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
  })
}

/** Calls a function that throws errors with a status. */
function serveFunction(ownerOf) {
  return createServer(async (request, response) => {
    const owner = await ownerOf(request).catch(({ status, headers }) => void response.writeHead(status, headers).end())
    if (owner !== undefined) response.end(JSON.stringify({ owner }))
  })
}

async function serverOf({ app, server, GET, ownerOf }) {
  if (server !== undefined) return server
  if (GET !== undefined) return serveFetch(GET)
  if (ownerOf !== undefined) return serveFunction(ownerOf)
  if (app.ready !== undefined) {
    await app.ready()
    return app.server
  }
  if (app.fetch !== undefined) return serveFetch(app.fetch)
  // What an MCP transport would read.
  app.use('/mcp', ({ auth }, response) => response.json({ owner: auth.extra.subject, token: auth.token }))
  return createServer(app)
}

const server = await serverOf(exported)
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
