import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** Stands for the issuer in the stored document. */
const EXAMPLE_ISSUER = 'https://auth.example.org'

export type OpenApiDocumentOptions = { document: 'public' | 'internal'; issuer: string }

/** The stored OpenAPI document of a listener, with the issuer of this service. */
export function readOpenApiDocument({ document, issuer }: OpenApiDocumentOptions): object {
  const text = readFileSync(new URL(`../../openapi/${document}.yaml`, import.meta.url), 'utf8')
  return parse(text.replaceAll(EXAMPLE_ISSUER, issuer))
}
