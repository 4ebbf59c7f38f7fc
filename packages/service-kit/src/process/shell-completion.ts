type CommandOption = {
  long?: string | undefined
  hidden: boolean
  /** The option must have a value. */
  required: boolean
  /** The option may have a value. */
  optional: boolean
  /** The only values that the option accepts. */
  argChoices?: readonly string[] | undefined
}

/** A command with subcommands, as commander describes it. */
type CommandTree = {
  name: () => string
  commands: readonly CommandTree[]
  options: readonly CommandOption[]
}

/** What can be typed after a command: each choice, and after each of its options that has a value, the known values. */
type Step = {
  path: string
  isGroup: boolean
  choices: string[]
  values: { option: string; choices: readonly string[] }[]
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const

/**
 * A script that completes the commands, options and fixed values of a program. Load it with `eval "$(valetkey completion bash)"`, in
 * fish with `valetkey completion fish | source`. Other values, such as a client id, are not completed, because that would need the
 * database; bash and zsh offer files there.
 */
export function completionScript(program: CommandTree, shell: (typeof SHELLS)[number]): string {
  const name = program.name()
  const functionName = `_${name.replaceAll('-', '_')}`
  const steps = stepsOf(program, '')
  const lines = shell === 'fish' ? fishLines(name, functionName, steps) : bashLines(name, functionName, steps)
  const before = shell === 'zsh' ? ['autoload -U +X bashcompinit && bashcompinit'] : []
  return `${[...before, ...lines].join('\n')}\n`
}

function stepsOf(command: CommandTree, path: string): Step[] {
  const shown = command.options.flatMap((option) =>
    option.long === undefined || option.hidden ? [] : [{ ...option, long: option.long }]
  )
  const own: Step = {
    path,
    isGroup: command.commands.length > 0,
    choices: [...command.commands.map((each) => each.name()), ...shown.map(({ long }) => long), '--help'],
    values: shown
      .filter(({ required, optional }) => required || optional)
      .map(({ long, argChoices = [] }) => ({ option: long, choices: argChoices }))
  }
  return [own, ...command.commands.flatMap((each) => stepsOf(each, `${path} ${each.name()}`))]
}

function bashLines(name: string, functionName: string, steps: readonly Step[]): string[] {
  return [
    `${functionName}() {`,
    `  local path='' word choices='' last="\${COMP_WORDS[COMP_CWORD-1]}"`,
    `  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do`,
    '    case "$word" in -*) ;; *) path="$path $word" ;; esac',
    '  done',
    '  case "$path" in',
    ...steps.flatMap(({ path, isGroup, choices, values }) => [
      // Options can be typed after arguments, too.
      `    ${isGroup ? `'${path}'` : `'${path}'|'${path} '*`}) choices='${choices.join(' ')}'`,
      ...(values.length === 0 ? [] : ['      case "$last" in']),
      ...values.map(({ option, choices: known }) => `        ${option}) choices='${known.join(' ')}' ;;`),
      ...(values.length === 0 ? [] : ['      esac']),
      '      ;;'
    ]),
    '  esac',
    `  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    `complete -o default -F ${functionName} ${name} ./${name}`
  ]
}

function fishLines(name: string, functionName: string, steps: readonly Step[]): string[] {
  return [
    `function ${functionName}`,
    '  set -l words (commandline -opc)',
    "  set -l path ''",
    '  for word in $words[2..]',
    '    switch $word',
    "      case '-*'",
    '      case "*"',
    '        set path "$path $word"',
    '    end',
    '  end',
    '  switch "$path"',
    ...steps.flatMap(({ path, isGroup, choices, values }) => [
      `    case '${path}'${isGroup ? '' : ` '${path} *'`}`,
      '      switch $words[-1]',
      ...values.flatMap(({ option, choices: known }) => [
        `        case ${option}`,
        ...(known.length === 0 ? [] : [`          string join \\n ${known.join(' ')}`])
      ]),
      "        case '*'",
      `          string join \\n -- ${choices.join(' ')}`,
      '      end'
    ]),
    '  end',
    'end',
    ...[name, `./${name}`].map((command) => `complete -c ${command} -f -a '(${functionName})'`)
  ]
}
