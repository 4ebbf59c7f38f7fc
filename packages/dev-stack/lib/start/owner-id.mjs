const USER_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Replaces a user name after `--owner` with the id of the user. The resource server knows ids only, because it has no access
 * to the database of the authorization server. An unknown name stays: the command refuses it.
 * @param {readonly string[]} args of `valetkey-files`
 * @param {(username: string) => string | undefined} findUserId
 * @returns {readonly string[]}
 */
export function withOwnerId(args, findUserId) {
  const place = args.findIndex((each) => each === '--' || each === '--owner' || each.startsWith('--owner='))
  const option = args[place]
  if (option === undefined || option === '--') return args
  if (option !== '--owner') {
    const id = idOf(option.slice('--owner='.length), findUserId)
    return id === undefined ? args : args.with(place, `--owner=${id}`)
  }
  const id = idOf(args[place + 1], findUserId)
  return id === undefined ? args : args.with(place + 1, id)
}

/**
 * @param {string | undefined} name
 * @param {(username: string) => string | undefined} findUserId
 */
function idOf(name, findUserId) {
  // User names are stored in lower case.
  return name === undefined || name === '' || USER_ID.test(name) ? undefined : findUserId(name.toLowerCase())
}
