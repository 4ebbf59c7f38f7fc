import type { KnownFile } from './known-files.js'

export type FileList = { status: number; challenge: string; files: Pick<KnownFile, 'name' | 'size' | 'mimeType'>[] }

/** `GET /v1/files` with a token; the files are sorted by name for comparisons. */
export async function listFiles(resourceUrl: string, accessToken: string): Promise<FileList> {
  const response = await fetch(`${resourceUrl}/v1/files`, { headers: { authorization: `Bearer ${accessToken}` } })
  const body = (await response.json()) as { files?: { name: string; size: number; mime_type: string }[] }
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate') ?? '',
    files: (body.files ?? []).map(({ name, size, mime_type }) => ({ name, size, mimeType: mime_type })).sort(byName)
  }
}

const byName = (one: { name: string }, other: { name: string }): number => (one.name < other.name ? -1 : 1)

export function expectedFiles(files: readonly KnownFile[]): FileList['files'] {
  return files.map(({ name, size, mimeType }) => ({ name, size, mimeType })).sort(byName)
}
