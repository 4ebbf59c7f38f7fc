// The last lines of a start: addresses, demo account and how to stop.
import { displayPath } from '../checkout.mjs'
import { localUrl } from './settings.mjs'

/** @import { DataFiles } from '../checkout.mjs' */
/** @import { Settings } from './settings.mjs' */

/** @param {{ settings: Settings, user: { username: string, password: string | undefined }, data: DataFiles }} stack */
export function welcome({ settings, user, data }) {
  const { listen } = settings
  return `
Valetkey is running.

  Open              ${settings.demoUrl}   (Photo Printer, the demo client)
  Sign in as        ${user.username}
  Password          ${user.password ?? 'unknown, see below'}${settings.demoProviderUrl === undefined ? '' : demoProvider(settings)}

  Issuer            ${settings.issuer}   (internal ${localUrl(listen.authInternal)}, operator ${localUrl(listen.authOperator)})
  Resource server   ${settings.resourceUrl}   (operator ${localUrl(listen.filesOperator)})
  Logs              ${displayPath(data.logs)}

  Command lines     ./valetkey --help
                    ./valetkey-files --help
  Stop it           Ctrl-C; the data stays in ${displayPath(data.directory)}
${user.password === undefined ? unknownPassword(user.username) : ''}`
}

/** @param {Settings} settings */
const demoProvider = ({ demoProviderUrl }) => `
  Or continue with  Demo provider, ${demoProviderUrl}   (an OpenID provider; off: npm start -- --no-demo-provider)`

/** @param {string} username */
const unknownPassword = (username) => `
The user ${username} existed before, and this checkout does not know the password.
Create another user: printf '%s' 'a long password of yours' | ./valetkey users create NAME --password-stdin
`
