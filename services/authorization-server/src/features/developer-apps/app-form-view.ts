import type { FormParameters } from '@valetkey/oauth-protocol'
import { type BrandingField, LONGEST_URL } from '../../platform/clients/branding-texts.js'
import { describeScope } from '../../platform/i18n/describe-scope.js'
import type { Language } from '../../platform/i18n/language.js'
import { CLIENT_SETTINGS, namesOfKind } from '../../storage/client-settings-table.js'
import type { Scope } from '../../storage/postgres/scopes.js'
import type { AppInput } from './app-input.js'
import type { ProblemView } from './app-problem-view.js'
import type { AppSettings } from './developer-app-store.js'

/** The fields as the user typed them. */
export type TypedApp = {
  type: 'confidential' | 'public'
  name: string
  redirectUris: string
  requiredScopes: readonly string[]
  optionalScopes: readonly string[]
  branding: Record<BrandingField, string>
  removesLogo: boolean
}

/** A name comes before addresses. */
export const BRANDING_FIELDS = [...namesOfKind('text'), ...namesOfKind('url')]

const NO_BRANDING = textsOf(() => '')

export const EMPTY_APP: TypedApp = {
  type: 'confidential',
  name: '',
  redirectUris: '',
  requiredScopes: [],
  optionalScopes: [],
  branding: NO_BRANDING,
  removesLogo: false
}

export function typedFrom({ branding, ...settings }: AppSettings): TypedApp {
  const redirectUris = settings.redirectUris.join('\n')
  return { ...EMPTY_APP, ...settings, redirectUris, branding: textsOf((field) => branding[field] ?? '') }
}

export function readTyped(form: FormParameters, offered: readonly Scope[]): TypedApp {
  const scopesAs = (use: string) => offered.map(({ name }) => name).filter((name) => form.get(`scope.${name}`) === use)
  return {
    type: form.get('type') === 'public' ? 'public' : 'confidential',
    name: form.get('name') ?? '',
    redirectUris: form.get('redirect_uris') ?? '',
    requiredScopes: scopesAs('required'),
    optionalScopes: scopesAs('optional'),
    branding: textsOf((field) => form.get(CLIENT_SETTINGS[field].member) ?? ''),
    removesLogo: form.get('remove_logo') === 'on'
  }
}

/** Each line is one redirect URI. @param logo hash of the logo */
export function inputOf(typed: TypedApp, logo: string | undefined): AppInput {
  const { name, requiredScopes, optionalScopes } = typed
  const branding = { ...typed.branding, logo }
  return { name, redirectUris: typed.redirectUris.split('\n'), requiredScopes, optionalScopes, branding }
}

/** What `account-developer-form.hbs` shows of the fields. */
export function formView(
  typed: TypedApp,
  problems: readonly ProblemView[],
  offered: readonly Scope[],
  language: Language
) {
  const problemsAt = (id: string) => problems.filter((problem) => problem.id === id).map(({ message }) => message)
  const useOf = (name: string) => {
    if (typed.requiredScopes.includes(name)) return 'required'
    return typed.optionalScopes.includes(name) ? 'optional' : ''
  }
  return {
    problems,
    isConfidential: typed.type === 'confidential',
    nameFields: [
      {
        id: 'name',
        label: 'developer.name',
        advice: 'developer.name_advice',
        type: 'text',
        direction: 'auto',
        most: 200,
        required: true,
        value: typed.name,
        problem: problemsAt('name')
      }
    ],
    brandingFields: BRANDING_FIELDS.map((field) => ({
      ...fieldView(field),
      required: false,
      value: typed.branding[field],
      problem: problemsAt(CLIENT_SETTINGS[field].member)
    })),
    logoProblem: problemsAt('logo'),
    removesLogo: typed.removesLogo,
    redirectUris: typed.redirectUris,
    redirectUrisProblem: problemsAt('redirect_uris'),
    scopesProblem: problemsAt('scopes'),
    scopes: offered.map(({ name }) => ({
      ...describeScope(name, offered, language),
      isRequired: useOf(name) === 'required',
      isOptional: useOf(name) === 'optional'
    }))
  }
}

function fieldView(field: BrandingField) {
  const setting = CLIENT_SETTINGS[field]
  const { member: id, label } = setting
  return setting.kind === 'text'
    ? { id, label, type: 'text', direction: 'auto', most: setting.most, advice: setting.advice }
    : { id, label, type: 'url', direction: 'ltr', most: LONGEST_URL, advice: 'developer.page_advice' }
}

/** A text for each field. */
function textsOf(textOf: (field: BrandingField) => string) {
  return Object.fromEntries(BRANDING_FIELDS.map((field) => [field, textOf(field)])) as Record<BrandingField, string>
}
