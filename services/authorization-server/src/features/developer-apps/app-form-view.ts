import type { FormParameters } from '@valetkey/oauth-protocol'
import type { BrandingField } from '../../platform/clients/branding-texts.js'
import { describeScope } from '../../platform/i18n/describe-scope.js'
import type { Language } from '../../platform/i18n/language.js'
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

const NO_BRANDING = { homePage: '', publisher: '', privacyPolicy: '', terms: '' }

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
  const { homePage = '', publisher = '', privacyPolicy = '', terms = '' } = branding
  return { ...EMPTY_APP, ...settings, redirectUris, branding: { homePage, publisher, privacyPolicy, terms } }
}

export function readTyped(form: FormParameters, offered: readonly Scope[]): TypedApp {
  const scopesAs = (use: string) => offered.map(({ name }) => name).filter((name) => form.get(`scope.${name}`) === use)
  return {
    type: form.get('type') === 'public' ? 'public' : 'confidential',
    name: form.get('name') ?? '',
    redirectUris: form.get('redirect_uris') ?? '',
    requiredScopes: scopesAs('required'),
    optionalScopes: scopesAs('optional'),
    branding: {
      homePage: form.get('home_page') ?? '',
      publisher: form.get('publisher') ?? '',
      privacyPolicy: form.get('privacy_policy') ?? '',
      terms: form.get('terms') ?? ''
    },
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
    brandingFields: BRANDING_FIELDS.map(({ field, ...view }) => ({
      ...view,
      required: false,
      value: typed.branding[field],
      problem: problemsAt(view.id)
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

const URL_FIELD = { type: 'url', direction: 'ltr', most: 2_000, advice: 'developer.page_advice' } as const

const BRANDING_FIELDS = [
  {
    field: 'publisher',
    id: 'publisher',
    label: 'developer.publisher',
    type: 'text',
    direction: 'auto',
    most: 80,
    advice: 'developer.publisher_advice'
  },
  { ...URL_FIELD, field: 'homePage', id: 'home_page', label: 'developer.home_page' },
  { ...URL_FIELD, field: 'privacyPolicy', id: 'privacy_policy', label: 'developer.privacy_policy' },
  { ...URL_FIELD, field: 'terms', id: 'terms', label: 'developer.terms' }
] as const
