/** A path for people. A name may hold anything, control sequences for the terminal included. */
export function printable(path: Buffer): string {
  return path.toString('utf8').replace(/\p{Cc}|\p{Cf}/gu, '\ufffd')
}
