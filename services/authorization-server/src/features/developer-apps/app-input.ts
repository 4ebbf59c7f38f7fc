import { MAX_OWN_REDIRECT_URIS, type RedirectUriProblem } from '@valetkey/oauth-protocol'
import { isReservedName, nameKeys, nameScriptProblem } from '@valetkey/sign-in-rules'
import {
  type BrandingField,
  type BrandingTextOutcome,
  readBrandingText
} from '../../platform/clients/branding-texts.js'
import { readName } from '../../platform/clients/client-name.js'
import { readRedirectUris } from '../../platform/clients/read-redirect-uris.js'
import { namesOfKind } from '../../storage/client-settings-table.js'
import type { ClientBranding } from '../../storage/postgres/client-branding.js'
import type { AppSettings } from './developer-app-store.js'
import { listOfferedScopes, type OwnAppDeps } from './own-apps.js'

/** What the user typed. */
export type AppInput = {
  name: string
  /** Empty ones are ignored. */
  redirectUris: readonly string[]
  requiredScopes: readonly string[]
  optionalScopes: readonly string[]
  /** The texts as typed; the hash of a stored logo. */
  branding: ClientBranding
}

type NameProblem =
  | 'malformed'
  | 'text_direction'
  | NonNullable<ReturnType<typeof nameScriptProblem>>
  | 'taken'
  | 'reserved'

/** What is wrong with a field. */
export type AppProblem =
  | { field: 'name'; problem: NameProblem }
  | { field: 'redirectUris'; problem: 'missing' | 'too_many' }
  | { field: 'redirectUris'; problem: RedirectUriProblem; uri: string; detail: string }
  | { field: 'scopes'; problem: 'missing' | 'not_offered' }
  | { field: BrandingField; problem: Exclude<BrandingTextOutcome['kind'], 'text'> }

export type Invalid = { kind: 'invalid'; problems: readonly AppProblem[] }

/** The app as it is, if it exists. */
type Current = { clientId: string; settings: AppSettings }

/** Reads all fields, and names each problem. */
export async function readAppInput(
  input: AppInput,
  current: Current | undefined,
  deps: Pick<OwnAppDeps, 'apps' | 'scopes' | 'productName'>
): Promise<{ kind: 'valid'; settings: AppSettings } | Invalid> {
  const name = await checkName(input.name, current, deps)
  const redirectUris = readAppRedirectUris(input.redirectUris)
  const scopes = await readScopes(input, current, deps)
  const { branding, problems: ofBranding } = readBranding(input.branding)
  const problems = [name, redirectUris, scopes].flatMap((part) => ('field' in part ? [part] : []))
  if ('field' in name || 'field' in redirectUris || 'field' in scopes || ofBranding.length > 0) {
    return { kind: 'invalid', problems: [...problems, ...ofBranding] }
  }
  return { kind: 'valid', settings: { ...name, ...redirectUris, ...scopes, branding } }
}

/** The names of others are compared in the form in which look-alikes are equal. */
async function checkName(
  given: string,
  current: Current | undefined,
  { apps, productName }: Pick<OwnAppDeps, 'apps' | 'productName'>
): Promise<AppProblem | { name: string }> {
  const outcome = readName(given)
  if (outcome.kind !== 'name') return { field: 'name', problem: outcome.kind }
  const { name } = outcome
  if (name === current?.settings.name) return { name }
  if (isReservedName(name, productName)) return { field: 'name', problem: 'reserved' }
  const isTaken = await apps.isNameTaken(nameKeys(name), current?.clientId ?? '')
  if (isTaken) return { field: 'name', problem: 'taken' }
  const problem = nameScriptProblem(name)
  return problem === undefined ? { name } : { field: 'name', problem }
}

function readAppRedirectUris(given: readonly string[]): AppProblem | { redirectUris: readonly string[] } {
  const outcome = readRedirectUris(given.map((uri) => uri.trim()).filter((uri) => uri !== ''))
  switch (outcome.kind) {
    case 'redirect_uris': {
      const { redirectUris } = outcome
      return redirectUris.length > MAX_OWN_REDIRECT_URIS
        ? { field: 'redirectUris', problem: 'too_many' }
        : { redirectUris }
    }
    case 'malformed':
      return { field: 'redirectUris', problem: outcome.problem, uri: outcome.uri, detail: outcome.detail }
    case 'missing':
    case 'too_many':
      return { field: 'redirectUris', problem: outcome.kind }
  }
}

async function readScopes(
  input: AppInput,
  current: Current | undefined,
  deps: Pick<OwnAppDeps, 'scopes'>
): Promise<AppProblem | Pick<AppSettings, 'requiredScopes' | 'optionalScopes'>> {
  const requiredScopes = [...new Set(input.requiredScopes)]
  const optionalScopes = [...new Set(input.optionalScopes)].filter((scope) => !requiredScopes.includes(scope))
  const chosen = [...requiredScopes, ...optionalScopes]
  if (chosen.length === 0) return { field: 'scopes', problem: 'missing' }
  const offered = (await listOfferedScopes(current?.settings, deps)).map(({ name }) => name)
  const areOffered = chosen.every((scope) => offered.includes(scope))
  return areOffered ? { requiredScopes, optionalScopes } : { field: 'scopes', problem: 'not_offered' }
}

function readBranding({ logo, ...typed }: ClientBranding): {
  branding: ClientBranding
  problems: readonly AppProblem[]
} {
  const branding: ClientBranding = { ...(logo && { logo }) }
  const problems: AppProblem[] = []
  for (const field of namesOfKind('text', 'url')) {
    const outcome = readBrandingText(field, typed[field] ?? '')
    if (outcome.kind !== 'text') problems.push({ field, problem: outcome.kind })
    else if (outcome.value !== undefined) branding[field] = outcome.value
  }
  return { branding, problems }
}
