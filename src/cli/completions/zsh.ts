/** Completions for zsh. Pure. */
import type { CommandModel, OptionModel, PlaceModel, Values } from "./command-words.ts"

export function zshCompletions(commands: readonly CommandModel[]): string {
  const list = commands.map(
    ({ name, description }) => `    ${word(`${name}:${description.replaceAll(":", "\\:")}`)}`,
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
${commands.map(commandCase).join("\n")}
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

function commandCase({ words, options, places }: CommandModel): string {
  const specs = [...options.flatMap(optionSpecs), ...places.map(placeSpec)].map(word)
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

const word = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
