/** `ctxbridge man`: the manual page. */
import { version } from "../../../package.json"
import { type Command, GLOBAL_ARGS } from "../command.ts"
import { GROUPS, loadCommands, PLUMBING } from "../commands.ts"
import { type CommandModel, commandModels, type OptionModel } from "../completions/command-words.ts"

export default {
  meta: { name: "man", description: "Print the manual page: ctxbridge man | man -l -", badOptions: "unread" },
  async run({ out }) {
    const groups = [
      ...GROUPS.map(({ title, commands, also = [] }) => ({ title, names: [...commands, ...also] })),
      { title: "Called by other programs", names: PLUMBING },
    ]
    const sections: ManSection[] = []
    for (const { title, names } of groups)
      sections.push({ title, commands: commandModels(await loadCommands(names)) })
    const page = manPage(version, sections, Object.keys(GLOBAL_ARGS))
    out.print(page.trimEnd())
    out.json({ page })
  },
} satisfies Command

/* The manual page, in the macros of man(7), from the same tables as the help. Pure. */

interface ManSection {
  readonly title: string
  readonly commands: readonly CommandModel[]
}

/** @param version as `--version` says it */
export function manPage(
  version: string,
  sections: readonly ManSection[],
  globals: readonly string[],
): string {
  const lines = [
    `.TH CTXBRIDGE 1 "" "ctxbridge ${version}" "User Commands"`,
    // Choices without blanks between them leave nothing that could be stretched.
    ".ad l",
    ".SH NAME",
    "ctxbridge \\- a memory for coding agents",
    ".SH SYNOPSIS",
    ".B ctxbridge",
    ".I command",
    "[options]",
    ".SH DESCRIPTION",
    "Archives every transcript of Claude Code before compactions, /clear or the 30\\-day clean\\-up can destroy it, restores",
    "what a compaction loses, and finds what was said, run, read or failed.",
    ".PP",
    "Commands can be abbreviated to any unambiguous prefix.",
    "All of them take \\fB\\-\\-json\\fR (one JSON document on standard output), \\fB\\-\\-debug\\fR and \\fB\\-\\-help\\fR.",
  ]
  for (const { title, commands } of sections) {
    lines.push(`.SH ${title.toUpperCase()}`)
    for (const command of commands) lines.push(...commandLines(command, globals))
  }
  lines.push(...REST)
  return `${lines.join("\n")}\n`
}

const REST = [
  ".SH EXIT STATUS",
  ".TP",
  ".B 0",
  "Done.",
  ".TP",
  ".B 1",
  "Failed, or verify or doctor found a problem.",
  ".TP",
  ".B 3",
  "Nothing found.",
  ".TP",
  ".B 64",
  "The command line is wrong.",
  ".SH FILES",
  ".TP",
  ".I ~/.local/share/ctxbridge",
  "The archive, or wherever \\fBCTXBRIDGE_HOME\\fR says. \\fBzstdcat\\fR reads what is in its vault/.",
  ".TP",
  ".I ~/.config/ctxbridge/config.toml",
  "The user's options. \\fBctxbridge config list\\fR shows them with their environment variables.",
  ".SH SEE ALSO",
  ".BR claude (1)",
]

function commandLines(
  { words, description, options, places }: CommandModel,
  globals: readonly string[],
): string[] {
  const [name, ...others] = words
  const typed = places
    .map(({ name: place, rest }) => ` \\fI${escaped(place)}\\fR${rest ? "..." : ""}`)
    .join("")
  const also = others.length === 0 ? "" : ` Also \\fB${others.join("\\fR, \\fB")}\\fR.`
  return [
    ".TP",
    `\\fB${escaped(name!)}\\fR${typed}`,
    `${escaped(description)}.${also}`,
    ...options.filter((option) => !globals.includes(option.name)).flatMap(optionLines),
  ]
}

function optionLines({ name, alias, description, hint }: OptionModel): string[] {
  const short = alias === undefined ? "" : `\\fB\\-${alias}\\fR, `
  const value = hint === undefined ? "" : `=\\fI${escaped(hint).replaceAll("|", "|\\:")}\\fR`
  return [".RS", ".TP", `${short}\\fB\\-\\-${escaped(name)}\\fR${value}`, escaped(description), ".RE"]
}

/** A line that begins with a dot or an apostrophe would be a macro. */
const escaped = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/, "\\&$1")
