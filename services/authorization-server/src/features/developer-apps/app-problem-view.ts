import type { RedirectUriProblem } from '@valetkey/oauth-protocol'
import type { BrandingField, BrandingTextOutcome } from '../../platform/clients/branding-texts.js'
import type { Message } from '../../platform/i18n/language.js'
import { CLIENT_SETTINGS } from '../../storage/client-settings-table.js'
import type { AppProblem } from './app-input.js'

/** @property id of the field */
export type ProblemView = { id: string; message: Message }

const NAME_PROBLEMS = {
  malformed: 'developer.name_malformed',
  text_direction: 'developer.name_text_direction',
  mixed_scripts: 'developer.name_mixed_scripts',
  mixed_numbers: 'developer.name_mixed_numbers',
  badge: 'developer.name_badge',
  taken: 'developer.name_taken',
  reserved: 'developer.name_reserved'
}

const SCOPE_PROBLEMS = { missing: 'developer.scopes_missing', not_offered: 'developer.scopes_not_offered' }

type TextProblem = Exclude<BrandingTextOutcome['kind'], 'text'>

const URL_PROBLEMS: Readonly<Record<TextProblem, string>> = {
  malformed: 'developer.url_malformed',
  text_direction: 'developer.url_malformed',
  too_long: 'developer.url_too_long',
  not_https: 'developer.url_not_https',
  credentials: 'developer.url_credentials'
}

const REDIRECT_URI_PROBLEMS: Readonly<Record<RedirectUriProblem | 'missing' | 'too_many', string>> = {
  missing: 'developer.redirect_uris_missing',
  too_many: 'developer.redirect_uris_too_many',
  not_ascii: 'developer.redirect_uri_not_ascii',
  idn_host: 'developer.redirect_uri_idn_host',
  too_long: 'developer.redirect_uri_too_long',
  delimiters: 'developer.redirect_uri_delimiters',
  wildcard: 'developer.redirect_uri_wildcard',
  fragment: 'developer.redirect_uri_fragment',
  not_absolute: 'developer.redirect_uri_not_absolute',
  response_parameter: 'developer.redirect_uri_response_parameter',
  user_name: 'developer.redirect_uri_user_name',
  upper_case_scheme: 'developer.redirect_uri_upper_case_scheme',
  scheme: 'developer.redirect_uri_scheme',
  other_spelling: 'developer.redirect_uri_other_spelling',
  host: 'developer.redirect_uri_host'
}

/** The text beside a field. */
export function problemView(problem: AppProblem): ProblemView {
  switch (problem.field) {
    case 'name':
      return { id: 'name', message: { key: NAME_PROBLEMS[problem.problem] } }
    case 'scopes':
      return { id: 'scopes', message: { key: SCOPE_PROBLEMS[problem.problem] } }
    case 'redirectUris':
      return { id: 'redirect_uris', message: redirectUriMessage(problem) }
    default:
      return brandingProblemView(problem.field, problem.problem)
  }
}

function brandingProblemView(field: BrandingField, problem: TextProblem): ProblemView {
  const setting = CLIENT_SETTINGS[field]
  if (setting.kind === 'url') return { id: setting.member, message: { key: URL_PROBLEMS[problem] } }
  const key = problem === 'text_direction' ? 'developer.name_text_direction' : setting.malformed
  return { id: setting.member, message: { key } }
}

function redirectUriMessage(problem: Extract<AppProblem, { field: 'redirectUris' }>): Message {
  const key = REDIRECT_URI_PROBLEMS[problem.problem]
  return 'uri' in problem ? { key, values: { uri: problem.uri, detail: problem.detail } } : { key }
}
