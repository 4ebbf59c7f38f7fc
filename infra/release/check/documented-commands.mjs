import { readFromCheckout } from '../versions.mjs'

/**
 * The commands of docs/install.md that start with a word, as arguments, for a release in a trial.
 * @param {string} program the first words, such as `helm install`
 * @param {{ version: string, images: string }} release its images replace those of the page
 * @returns {string[][]} without the program; at least one
 */
export function documentedCommands(program, { version, images }) {
  const blocks = [...readFromCheckout('docs/install.md').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
    ([, block]) => block
  )
  const lines = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'))
  const found = lines.filter((line) => line.startsWith(`${program} `))
  if (found.length === 0) throw new Error(`docs/install.md has no command that starts with ${program}`)
  return found.map((line) => {
    const command = line.replaceAll('ghcr.io/OWNER/valetkey', images).replaceAll('VERSION', version)
    return command.slice(program.length).trim().split(/\s+/)
  })
}
