/** A path for the terminal: a file name may contain control sequences, which are replaced. */
export function printable(path: Buffer): string {
  return path.toString('utf8').replace(/\p{Cc}|\p{Cf}/gu, '\ufffd')
}
