import type { ErrorPage } from '../http/send-error-page.js'

export type BadRequest = 'request_too_long' | 'unknown_client' | 'redirect_uri_mismatch' | 'no_cookie'

/** Requests that may not be answered by a redirect: the person sees this page, and no link to an unchecked address. */
export const BAD_REQUEST_PAGES: Readonly<Record<BadRequest, ErrorPage>> = {
  request_too_long: {
    status: 400,
    title: 'This request is too long',
    message: 'The address that brought you here is longer than this service reads.',
    advice: 'You have done nothing wrong. Tell the makers of the app: the parameters must fit into 8,000 characters.'
  },
  unknown_client: {
    status: 400,
    title: 'This app is not known here',
    message: 'The address that brought you here names an app (client_id) that is not registered, or not any more.',
    advice: 'You have done nothing wrong. Tell the makers of the app: its client_id must be registered at this service.'
  },
  redirect_uri_mismatch: {
    status: 400,
    title: 'This app sent a wrong return address',
    message: 'The address to which you would be sent back (redirect_uri) is not one that the app has registered.',
    advice:
      'For your safety the request ends here. Tell the makers of the app: redirect_uri must equal a registered one, character by character.'
  },
  no_cookie: {
    status: 400,
    title: 'Your browser did not keep our cookie',
    message: 'Without one we cannot know that whoever signs in and decides is the one who was sent here.',
    advice: 'Allow cookies for this site, for this visit at least, and start again.'
  }
}
