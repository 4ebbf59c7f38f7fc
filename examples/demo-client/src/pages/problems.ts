/** Where a person can go from a problem. */
type NextStep = 'connect' | 'files' | 'start'
type Problem = Readonly<{ status: number; title: string; text: string; next: NextStep }>

/** Everything that can go wrong, in the words that a person reads. */
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
    title: 'We could not trust that answer',
    text: 'The answer did not come from Valetkey the way it should, so we did not use it. Nothing was shared. Please start again from here.',
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
    text: 'The fault is on our side, not yours, and nothing was shared. You can try again; if it stays like this, tell whoever runs this app.',
    next: 'connect'
  },
  app_not_set_up: {
    status: 502,
    title: 'This app is not set up properly',
    text: 'Valetkey does not know Photo Printer by the settings it has. Whoever runs this app needs to check its address, client id and secret.',
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
    text: 'Photo Printer may no longer see your files: the permission ran out or was taken back. Connect again if you want to go on.',
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
    text: 'The link to this part of the list no longer works. Please begin with the newest files.',
    next: 'files'
  },
  disconnected_only_here: {
    status: 503,
    title: 'Disconnected, but only here',
    text: 'We forgot our access to your files, but could not tell Valetkey. To be sure, remove Photo Printer from the list of apps in your Valetkey account.',
    next: 'start'
  },
  form_refused: {
    status: 403,
    title: 'That button was not pressed here',
    text: 'The request came from another website, so we did nothing. If it was you, please use the buttons on our own pages.',
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
    text: 'This is a fault in Photo Printer. It has been written down; please try again.',
    next: 'start'
  }
} as const satisfies Record<string, Problem>

export type ProblemName = keyof typeof table

export const problems: Readonly<Record<ProblemName, Problem>> = table
