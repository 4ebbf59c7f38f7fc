// Runs the program of `helm test` against servers on this machine.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'

/**
 * @param {object[]} documents a rendering
 * @param {Record<string, string>} changes members of the metadata that differ from the values
 * @returns {Promise<string[]>} the test's complaints
 */
export async function runHelmTest(documents, changes = {}) {
  const job = documents.find(({ kind, metadata }) => kind === 'Job' && metadata.name.endsWith('-test'))
  const [{ command, env }] = job.spec.template.spec.containers
  const checks = JSON.parse(env.find(({ name }) => name === 'CHECKS').value)
  const services = documents.filter(({ kind }) => kind === 'Service').map(({ metadata }) => metadata.name)
  const unknown = checks.map(({ url }) => new URL(url).hostname).filter((name) => !services.includes(name))
  if (unknown.length > 0 || checks.length === 0) return [`no Service is called ${unknown}`]

  const metadata = Object.fromEntries(
    checks.map(({ url, member, value }) => [new URL(url).pathname, { [member]: changes[member] ?? value }])
  )
  const server = createServer(({ url }, response) => response.end(JSON.stringify(metadata[url])))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${server.address().port}`
  const local = checks.map((check) => ({ ...check, url: origin + new URL(check.url).pathname }))
  const [program, ...args] = command
  const child = spawn(program, args, { env: { PATH: process.env.PATH, CHECKS: JSON.stringify(local) } })
  child.stderr.setEncoding('utf8')
  const [output, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'close')])
  server.close()
  return code === 0 ? [] : [`exit code ${code}`, ...output]
}
