export type FileRecord = Readonly<{ name: string; mimeType: string; size: number; modifiedAt: Date }>
export type FilePage = Readonly<{ files: readonly FileRecord[]; nextPageToken: string | undefined }>

/** Reads the response of `GET /v1/files`; undefined if it is not valid. */
export function parseFilePage(body: unknown): FilePage | undefined {
  if (!isObject(body)) return undefined
  const { files: records, next_page_token: next } = body
  if (!Array.isArray(records)) return undefined
  const files = records.map(parseFile)
  if (!files.every((file) => file !== undefined)) return undefined
  return { files, nextPageToken: typeof next === 'string' ? next : undefined }
}

function parseFile(value: unknown): FileRecord | undefined {
  if (!isObject(value)) return undefined
  const { name, mime_type: mimeType, size, modified_at: modified } = value
  if (typeof name !== 'string' || typeof mimeType !== 'string') return undefined
  if (typeof size !== 'number' || typeof modified !== 'string') return undefined
  const modifiedAt = new Date(modified)
  return Number.isNaN(modifiedAt.getTime()) ? undefined : { name, mimeType, size, modifiedAt }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
