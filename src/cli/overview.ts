/** What `ctxbridge --help` and `ctxbridge help --all` print. */
import { version } from "../../package.json"
import { GROUPS, loadCommands, PLUMBING } from "./commands.ts"
import { foldedLines } from "./screen.ts"
import type { Style } from "./style.ts"

/** Columns of a group's title, and of a command's name. */
const TITLE = 10
const NAME = 12
const COLUMNS = 80

const HEAD = [`ctxbridge ${version}: a memory for coding agents`, "Usage: ctxbridge <command> [options]", ""]
const EXITS = "Exit codes: 0 done, 1 failed, 3 nothing found, 64 usage."

/** Fits a terminal of 80 columns and 24 rows, with the next prompt below it. */
export async function overview(style: Style): Promise<string> {
  const lines: string[] = []
  for (const { title, commands, also } of GROUPS) {
    const rows = await described(commands)
    if (also !== undefined) rows.push(...foldedLines(also.join(", "), COLUMNS - TITLE))
    for (const [n, row] of rows.entries())
      lines.push((n === 0 ? style.bold(title.padEnd(TITLE)) : " ".repeat(TITLE)) + row)
  }
  return [
    ...HEAD,
    ...lines,
    "",
    "`ctxbridge help <command>` explains one; `ctxbridge help --all` lists them all.",
    "",
  ].join("\n")
}

/** Every command, those that programs call included. */
export async function wholeOverview(style: Style): Promise<string> {
  const lines: string[] = []
  const all = [
    ...GROUPS,
    { title: "Called by Claude Code, shells and packages", commands: PLUMBING, also: [] },
  ]
  for (const { title, commands, also = [] } of all) {
    const rows = await described([...commands, ...also])
    lines.push(style.bold(title), ...rows.map((row) => `  ${row}`), "")
  }
  return [...HEAD, ...lines, `\`ctxbridge help <command>\` explains one. ${EXITS}`, ""].join("\n")
}

async function described(names: readonly string[]): Promise<string[]> {
  const commands = await loadCommands(names)
  return commands.map(({ meta }, n) => `${names[n]!.padEnd(NAME)} ${meta.description}`)
}
