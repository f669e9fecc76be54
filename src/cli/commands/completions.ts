/** `ctxbridge completions`: what a shell needs to complete our commands. */
import { stringArg, unknownWord } from "../args.ts"
import type { Command } from "../command.ts"
import { COMMANDS, loadCommands } from "../commands.ts"
import {
  type CommandModel,
  commandModels,
  type OptionModel,
  type PlaceModel,
  type Values,
} from "../completions/command-words.ts"

const SHELLS = { bash: bashCompletions, zsh: zshCompletions, fish: fishCompletions } as const

/** Start files, and what turns completions on there. */
const TURN_ON = [
  ["~/.bashrc", 'eval "$(ctxbridge completions bash)"'],
  ["~/.zshrc", 'eval "$(ctxbridge completions zsh)"'],
  ["~/.config/fish/config.fish", "ctxbridge completions fish | source"],
] as const

const isShell = (name: string): name is keyof typeof SHELLS => Object.hasOwn(SHELLS, name)

export default {
  meta: { name: "completions", description: "Print completions for a shell", badOptions: "unread" },
  args: {
    shell: {
      type: "positional",
      description: "Which shell; without it, how to turn completions on",
      valueHint: "bash|zsh|fish",
    },
  },
  async run({ args, out }) {
    const shell = stringArg(args, "shell")
    if (shell === undefined) {
      out.print([
        "Put the line of your shell into its start file:",
        "",
        ...TURN_ON.map(([name, line]) => `${name}: ${line}`),
      ])
      out.json({ shells: Object.keys(SHELLS) })
      return
    }
    if (!isShell(shell)) throw unknownWord("shell", shell, Object.keys(SHELLS))
    const script = SHELLS[shell](commandModels(await loadCommands(Object.keys(COMMANDS))))
    out.print(script.trimEnd())
    out.json({ shell, script })
  },
} satisfies Command

/* Completions for bash 3.2 (macOS) and later. Pure. */

export function bashCompletions(commands: readonly CommandModel[]): string {
  const names = [...commands.map(({ name }) => name), "help"].join(" ")
  return `# bash completions for ctxbridge. Put into ~/.bashrc:  eval "$(ctxbridge completions bash)"
_ctxbridge() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} place=0 n
  COMPREPLY=()
  # The = of --option=value is a word of its own.
  if [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [[ $cur == = ]]; then cur=; fi
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "${names}" -- "$cur"))
    return
  fi
  for ((n = 2; n < COMP_CWORD; n++)); do
    case \${COMP_WORDS[n]} in
      =) n=$((n + 1)) ;;
      ${valued(commands)}) if [[ \${COMP_WORDS[n+1]} != = ]]; then n=$((n + 1)); fi ;;
      -*) ;;
      *) place=$((place + 1)) ;;
    esac
  done
  case \${COMP_WORDS[1]} in
${commands.map(commandCase).join("\n")}
    help) COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")}" -- "$cur")) ;;
  esac
}
# The binary filters them: compgen would run what stands in a name.
_ctxbridge_names() {
  local line
  while IFS=$'\\t' read -r line _; do
    # Bash takes a colon for the end of a word.
    COMPREPLY+=("\${line#ctx:}")
  done < <(ctxbridge __complete "$1" "$2" 2>/dev/null)
}
complete -o default -F _ctxbridge ctxbridge
`
}

/** Options that are followed by a value, which is no word of its own. */
function valued(commands: readonly CommandModel[]): string {
  const options = commands.flatMap((command) => command.options).filter(({ values }) => values !== undefined)
  const flags = options.flatMap(({ name, alias }) => [
    `--${name}`,
    ...(alias === undefined ? [] : [`-${alias}`]),
  ])
  return [...new Set(flags)].join(" | ")
}

function commandCase({ words, options, places }: CommandModel): string {
  const valued = options.flatMap(({ name: flag, alias, values }) => {
    if (values === undefined) return []
    const flags = alias === undefined ? `--${flag}` : `--${flag} | -${alias}`
    return [`        ${flags}) ${[offerOf(values), "return"].filter(Boolean).join("; ")} ;;`]
  })
  const flags = options.map(({ name: flag }) => `--${flag}`)
  const offers = places.flatMap(({ values, rest }, place) => {
    const offered = offerOf(values)
    return offered === "" ? [] : [`      elif ((place ${rest ? ">=" : "=="} ${place})); then ${offered}`]
  })
  return [
    `    ${words.join(" | ")})`,
    ...(valued.length > 0 ? ["      case $prev in", ...valued, "      esac"] : []),
    `      if [[ $cur == -* ]]; then ${offer(flags)}`,
    ...offers,
    "      fi ;;",
  ].join("\n")
}

/** An empty reply lets bash offer files. */
function offerOf({ choices, names }: Values): string {
  if (names !== undefined) return `_ctxbridge_names ${names} "$cur"`
  return choices.length === 0 ? "" : offer(choices)
}

const offer = (words: readonly string[]): string => `COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$cur"))`

/* Completions for zsh. Pure. */

export function zshCompletions(commands: readonly CommandModel[]): string {
  const list = commands.map(
    ({ name, description }) => `    ${zshWord(`${name}:${description.replaceAll(":", "\\:")}`)}`,
  )
  return `#compdef ctxbridge
# zsh completions for ctxbridge. Put into ~/.zshrc, after compinit:  eval "$(ctxbridge completions zsh)"
_ctxbridge_names() {
  local -a names shown
  local name about
  while IFS=$'\\t' read -r name about; do
    names+=($name)
    shown+=("$name  $about")
  done < <(ctxbridge __complete $1 "$PREFIX" 2>/dev/null)
  compadd -l -d shown -a names
}
_ctxbridge() {
  local -a commands
  commands=(
${list.join("\n")}
    'help:Explain a command'
  )
  if ((CURRENT == 2)); then
    _describe -t commands command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${commands.map(zshCase).join("\n")}
    help) _arguments '1:command:(${commands.map(({ name }) => name).join(" ")})' ;;
  esac
}
if [[ $funcstack[1] == _ctxbridge ]]; then
  _ctxbridge "$@"
else
  compdef _ctxbridge ctxbridge
fi
`
}

function zshCase({ words, options, places }: CommandModel): string {
  const specs = [...options.flatMap(optionSpecs), ...places.map(placeSpec)].map(zshWord)
  return `    ${words.join(" | ")})\n      _arguments \\\n        ${specs.join(" \\\n        ")}\n      ;;`
}

function optionSpecs({ name, alias, description, values }: OptionModel): string[] {
  const text = `[${escaped(description)}]`
  if (values === undefined) return [`--${name}${text}`, ...(alias === undefined ? [] : [`-${alias}${text}`])]
  const what = `:${name}:${action(values)}`
  return [`--${name}=${text}${what}`, ...(alias === undefined ? [] : [`-${alias}${text}${what}`])]
}

const placeSpec = ({ description, values, rest }: PlaceModel, index: number): string =>
  `${rest ? "*" : index + 1}:${escaped(description)}:${action(values)}`

function action({ choices, files, names }: Values): string {
  // The space keeps zsh from putting words of its own before ours.
  if (names !== undefined) return ` _ctxbridge_names ${names}`
  if (files) return "_files"
  return choices.length > 0 ? `(${choices.join(" ")})` : " "
}

const escaped = (text: string): string => text.replace(/[[\]:\\]/g, "\\$&")

const zshWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/* Completions for fish. Pure. */

export function fishCompletions(commands: readonly CommandModel[]): string {
  const lines = [
    "# fish completions for ctxbridge. Once:  ctxbridge completions fish > ~/.config/fish/completions/ctxbridge.fish",
    "complete -c ctxbridge -f",
  ]
  for (const { name, description } of [...commands, { name: "help", description: "Explain a command" }]) {
    lines.push(`complete -c ctxbridge -n __fish_use_subcommand -a ${name} -d ${fishWord(description)}`)
  }
  for (const { words, options, places } of commands) {
    const on = `complete -c ctxbridge -n ${fishWord(`__fish_seen_subcommand_from ${words.join(" ")}`)}`
    for (const option of options) lines.push(`${on} ${optionWords(option)}`)
    for (const place of places) lines.push(...placeWords(place).map((words) => `${on} ${words}`))
  }
  const names = commands.map(({ name }) => name).join(" ")
  lines.push(`complete -c ctxbridge -n '__fish_seen_subcommand_from help' -a ${fishWord(names)}`)
  return `${lines.join("\n")}\n`
}

function optionWords({ name, alias, description, values }: OptionModel): string {
  const short = alias === undefined ? "" : ` -s ${alias}`
  const value = values === undefined ? "" : ` -r ${valueWords(values) ?? "-f"}`
  return `-l ${name}${short}${value} -d ${fishWord(description)}`
}

const placeWords = ({ values }: PlaceModel): string[] => [valueWords(values) ?? ""].filter(Boolean)

function valueWords({ choices, files, names }: Values): string | undefined {
  if (names !== undefined) return `-f -k -a ${fishWord(`(ctxbridge __complete ${names} (commandline -ct))`)}`
  if (files) return "-F"
  return choices.length > 0 ? `-f -a ${fishWord(choices.join(" "))}` : undefined
}

const fishWord = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`
