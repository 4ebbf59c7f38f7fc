/** The next step that a problem page offers. */
type NextStep = 'connect' | 'files' | 'start'
type Problem = Readonly<{ status: number; title: string; text: string; next: NextStep }>

/** Every error page, with its texts. */
const table = {
  access_denied: {
    status: 403,
    title: 'You did not allow access',
    text: 'Nothing was shared, and Photo Printer cannot see your files. If you change your mind, connect again and choose Allow.',
    next: 'connect'
  },
  flow_unknown: {
    status: 400,
    title: 'This page cannot be used again',
    text: 'It belongs to a connection that is already finished, took too long, or was started in another browser. Please start a new one.',
    next: 'connect'
  },
  answer_not_genuine: {
    status: 400,
    title: 'We could not verify the response',
    text: 'The response from Valetkey failed a security check, so we did not use it. Nothing was shared. Please start again from here.',
    next: 'connect'
  },
  code_not_accepted: {
    status: 400,
    title: 'That took a little too long',
    text: 'Valetkey no longer accepts this sign-in: it can be used once, and only for a few seconds. Please connect again.',
    next: 'connect'
  },
  request_refused: {
    status: 502,
    title: 'Valetkey refused our request',
    text: 'The error is on our side, not yours, and nothing was shared. You can try again. If it happens again, contact the developer of this app.',
    next: 'connect'
  },
  app_not_set_up: {
    status: 502,
    title: 'This app is not set up correctly',
    text: 'Valetkey does not accept the settings of Photo Printer. The operator of this app must check its address, client id and secret.',
    next: 'start'
  },
  sign_in_unreachable: {
    status: 503,
    title: 'Valetkey cannot be reached',
    text: 'Signing in does not work at the moment. Nothing is lost: please try again in a minute.',
    next: 'connect'
  },
  renewal_unreachable: {
    status: 503,
    title: 'Valetkey cannot be reached',
    text: 'We could not renew our access to your files just now. You are still connected: please try again in a minute.',
    next: 'files'
  },
  files_unreachable: {
    status: 503,
    title: 'Your files cannot be reached',
    text: 'The place where your files are kept does not answer at the moment. You are still connected: please try again in a minute.',
    next: 'files'
  },
  access_ended: {
    status: 403,
    title: 'Access has ended',
    text: 'Photo Printer may no longer see your files: the permission expired or was revoked. Connect again to continue.',
    next: 'connect'
  },
  permission_missing: {
    status: 403,
    title: 'The permission does not cover this',
    text: 'You are connected, but what you allowed does not include the list of your files. Connect again to allow it.',
    next: 'connect'
  },
  page_gone: {
    status: 400,
    title: 'This part of the list is gone',
    text: 'The link to this part of the list no longer works. Please start with the newest files.',
    next: 'files'
  },
  disconnected_only_here: {
    status: 503,
    title: 'Disconnected, but only here',
    text: 'We deleted our access to your files, but could not tell Valetkey. To be sure, remove Photo Printer from the list of apps in your Valetkey account.',
    next: 'start'
  },
  form_refused: {
    status: 403,
    title: 'The request came from another site',
    text: 'We did not process a request from another website. If you sent it, please use the buttons on our own pages.',
    next: 'start'
  },
  not_found: {
    status: 404,
    title: 'There is no such page',
    text: 'The address may be mistyped, or the page has moved.',
    next: 'start'
  },
  bad_request: {
    status: 400,
    title: 'We did not understand that',
    text: 'The address or form does not look like one of ours. Please go back to the start.',
    next: 'start'
  },
  unexpected: {
    status: 500,
    title: 'Something went wrong on our side',
    text: 'This is an error in Photo Printer. It has been logged. Please try again.',
    next: 'start'
  }
} as const satisfies Record<string, Problem>

export type ProblemName = keyof typeof table

export const problems: Readonly<Record<ProblemName, Problem>> = table
