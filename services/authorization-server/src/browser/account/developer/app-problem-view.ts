import type { BrandingTextOutcome } from '../../../platform/clients/branding-texts.js'
import type { Message } from '../../../platform/i18n/language.js'
import type { AppProblem } from './app-input.js'

/** @property id of the field */
export type ProblemView = { id: string; message: Message }

const NAME_PROBLEMS = {
  malformed: 'developer.name_malformed',
  text_direction: 'developer.name_text_direction',
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

/** The text beside a field. */
export function problemView(problem: AppProblem): ProblemView {
  switch (problem.field) {
    case 'name':
      return { id: 'name', message: { key: NAME_PROBLEMS[problem.problem] } }
    case 'scopes':
      return { id: 'scopes', message: { key: SCOPE_PROBLEMS[problem.problem] } }
    case 'redirectUris':
      return { id: 'redirect_uris', message: redirectUriMessage(problem) }
    case 'publisher':
      return { id: 'publisher', message: { key: publisherProblem(problem.problem) } }
    case 'homePage':
      return { id: 'home_page', message: { key: URL_PROBLEMS[problem.problem] } }
    case 'privacyPolicy':
      return { id: 'privacy_policy', message: { key: URL_PROBLEMS[problem.problem] } }
    case 'terms':
      return { id: 'terms', message: { key: URL_PROBLEMS[problem.problem] } }
  }
}

function publisherProblem(problem: TextProblem): string {
  return problem === 'text_direction' ? 'developer.name_text_direction' : 'developer.publisher_malformed'
}

function redirectUriMessage(problem: Extract<AppProblem, { field: 'redirectUris' }>): Message {
  switch (problem.problem) {
    case 'missing':
      return { key: 'developer.redirect_uris_missing' }
    case 'too_many':
      return { key: 'developer.redirect_uris_too_many' }
    case 'malformed':
      return { key: 'developer.redirect_uri_malformed', values: { uri: problem.uri, objection: problem.objection } }
  }
}
