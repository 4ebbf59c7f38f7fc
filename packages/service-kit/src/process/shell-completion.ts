/** A command with subcommands, as commander describes it. */
type CommandTree = {
  name: () => string
  commands: readonly CommandTree[]
  options: readonly { long?: string | undefined; hidden: boolean }[]
}

export const SHELLS = ['bash', 'zsh'] as const

/**
 * A script that completes the commands and options of a program. Load it with `eval "$(valetkey completion bash)"`.
 * Arguments, such as a client id, are not completed: that would need the database.
 */
export function completionScript(program: CommandTree, shell: (typeof SHELLS)[number]): string {
  const name = program.name()
  const functionName = `_${name.replaceAll('-', '_')}`
  const lines = [
    ...(shell === 'zsh' ? ['autoload -U +X bashcompinit && bashcompinit'] : []),
    `${functionName}() {`,
    "  local path='' word choices=''",
    `  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do`,
    '    case "$word" in -*) ;; *) path="$path $word" ;; esac',
    '  done',
    '  case "$path" in',
    ...cases(program, ''),
    '  esac',
    `  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    `complete -F ${functionName} ${name} ./${name}`
  ]
  return `${lines.join('\n')}\n`
}

/** One case for each command: its subcommands, or its options also after arguments. */
function cases(command: CommandTree, path: string): string[] {
  const options = command.options.flatMap(({ long, hidden }) => (long === undefined || hidden ? [] : [long]))
  const choices = [...command.commands.map((each) => each.name()), ...options, '--help'].join(' ')
  const pattern = command.commands.length > 0 ? `'${path}'` : `'${path}'|'${path} '*`
  const inner = command.commands.flatMap((each) => cases(each, `${path} ${each.name()}`))
  return [`    ${pattern}) choices='${choices}' ;;`, ...inner]
}
