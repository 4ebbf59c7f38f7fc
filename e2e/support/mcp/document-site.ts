import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { generate } from 'selfsigned'

/** The https site of the maker of an app, with client id metadata documents and a page at every other path. */
export type DocumentSite = {
  origin: string
  /** The certificate for `NODE_EXTRA_CA_CERTS`. */
  certificateFile: string
  /** Publishes a document that names its own URL as `client_id`. Returns the URL. */
  publish(path: string, document: object): string
  close(): Promise<void>
}

export async function openDocumentSite(): Promise<DocumentSite> {
  const directory = mkdtempSync(path.join(tmpdir(), 'valetkey-documents-'))
  const certificateFile = path.join(directory, 'certificate.pem')
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], { algorithm: 'sha256' })
  writeFileSync(certificateFile, cert)
  const documents = new Map<string, string>()
  const server = createServer({ key, cert }, (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'https://localhost')
    const document = documents.get(pathname)
    if (document !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(document)
      return
    }
    const status = pathname.startsWith('/oauth/') ? 404 : 200
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' })
    response.end('<!doctype html><html lang="en"><title>App</title><h1>Thank you</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`
  return {
    origin,
    certificateFile,
    publish(pathname, document) {
      const url = `${origin}${pathname}`
      documents.set(pathname, JSON.stringify({ client_id: url, ...document }))
      return url
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
