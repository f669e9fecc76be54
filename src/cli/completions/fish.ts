/** Completions for fish. Pure. */
import type { CommandModel, OptionModel, PlaceModel, Values } from "./command-words.ts"

export function fishCompletions(commands: readonly CommandModel[]): string {
  const lines = [
    "# fish completions for ctxbridge. Once:  ctxbridge completions fish > ~/.config/fish/completions/ctxbridge.fish",
    "complete -c ctxbridge -f",
  ]
  for (const { name, description } of [...commands, { name: "help", description: "Explain a command" }]) {
    lines.push(`complete -c ctxbridge -n __fish_use_subcommand -a ${name} -d ${word(description)}`)
  }
  for (const { words, options, places } of commands) {
    const on = `complete -c ctxbridge -n ${word(`__fish_seen_subcommand_from ${words.join(" ")}`)}`
    for (const option of options) lines.push(`${on} ${optionWords(option)}`)
    for (const place of places) lines.push(...placeWords(place).map((words) => `${on} ${words}`))
  }
  const names = commands.map(({ name }) => name).join(" ")
  lines.push(`complete -c ctxbridge -n '__fish_seen_subcommand_from help' -a ${word(names)}`)
  return `${lines.join("\n")}\n`
}

function optionWords({ name, alias, description, values }: OptionModel): string {
  const short = alias === undefined ? "" : ` -s ${alias}`
  const value = values === undefined ? "" : ` -r ${valueWords(values) ?? "-f"}`
  return `-l ${name}${short}${value} -d ${word(description)}`
}

const placeWords = ({ values }: PlaceModel): string[] => [valueWords(values) ?? ""].filter(Boolean)

function valueWords({ choices, files, names }: Values): string | undefined {
  if (names !== undefined) return `-f -k -a ${word(`(ctxbridge __complete ${names} (commandline -ct))`)}`
  if (files) return "-F"
  return choices.length > 0 ? `-f -a ${word(choices.join(" "))}` : undefined
}

const word = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`
