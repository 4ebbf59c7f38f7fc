const USER_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Replaces a user name after `--owner` with the id of the user. The resource server knows ids only, because it has no access
 * to the database of the authorization server. An unknown name stays: the command refuses it.
 * @param {readonly string[]} args of `valetkey-files`
 * @param {() => { user_id: string, username: string }[]} listUsers
 */
export function withOwnerId(args, listUsers) {
  const place = args.indexOf('--owner') + 1
  const name = place === 0 ? undefined : args[place]
  if (name === undefined || USER_ID.test(name)) return args
  const found = listUsers().find(({ username }) => username === name.toLowerCase())
  return found === undefined ? args : args.with(place, found.user_id)
}
