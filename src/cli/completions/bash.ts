/** Completions for bash 3.2 (macOS) and later. Pure. */
import type { CommandModel, Values } from "./command-words.ts"

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
