// The last lines of a start: where to click, what to type, how to end it.
import { displayPath } from './checkout.mjs'
import { localUrl } from './settings.mjs'

export function welcome({ settings, user, data }) {
  const { listen } = settings
  return `
Valetkey is running.

  Open              ${settings.demoUrl}   (Photo Printer, the demo client)
  Sign in as        ${user.username}
  Password          ${user.password ?? 'not known here, see below'}

  Issuer            ${settings.issuer}   (internal ${localUrl(listen.authInternal)}, operator ${localUrl(listen.authOperator)})
  Resource server   ${settings.resourceUrl}   (operator ${localUrl(listen.filesOperator)})
  Logs              ${displayPath(data.logs)}

  Operate it        npm run --silent valetkey -- --help
                    npm run --silent valetkey-files -- --help
  Stop it           Ctrl-C; the data stays in ${displayPath(data.directory)}
${user.password === undefined ? unknownPassword(user.username) : ''}`
}

const unknownPassword = (username) => `
The user ${username} was in the database already, and ${username}'s password is not written down here.
Make another user: printf '%s' 'a password' | npm run --silent valetkey -- users create NAME --password-stdin
`
