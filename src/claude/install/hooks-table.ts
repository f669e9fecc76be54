/** The hooks we register with Claude Code, and how to tell our own commands from anyone else's. */

import { CtxError } from "../../base/errors.ts"
import { isOurBinary } from "../../base/own-program.ts"
import { isOnDrive } from "../../base/path.ts"
import { shellWord } from "../../base/text.ts"
import type { Config } from "../../config/options.ts"
import { NO_BUN_VARIABLES } from "../../config/unused-variables.ts"
import { EVENTS, type EventName } from "../../record/hook-event.ts"
import { expandedWord, SHELL_WORD } from "../../record/shell-script.ts"
import { ACTION_HOOKS, type ActionEvent, type ClaudeEvent, HOOKS, hookEntry, MATCHERS } from "../hooks.ts"

/** Always registered. */
export const HOST_EVENTS = Object.keys(HOOKS) as readonly ClaudeEvent[]
/** Registered only while `recall.actions` is on. */
export const ACTION_EVENTS = Object.keys(ACTION_HOOKS) as readonly ActionEvent[]

/** Names of the variables that our commands clear. */
export const CLEARED: readonly string[] = Object.keys(NO_BUN_VARIABLES)

/** Says nothing to anybody, but stands first: newer clients list a hook by the beginning of its command. */
const WHOSE = "CTXBRIDGE= "

/** The command Claude Code runs for `event`. */
export const hookCommand = (exePath: string, event: ClaudeEvent | ActionEvent): string =>
  commandFor(exePath, hookName(event))

/** @param words after `hook`: our name for the event, and the agent if it is not Claude Code */
const commandFor = (exePath: string, words: string): string =>
  `${isOnDrive(exePath) ? "" : WHOSE}${ourProgram(exePath)} hook ${words}`

/** What an entry says of a hook besides its command. */
interface HookFields {
  /** That the command is written for, if the agent has to be told. */
  readonly shell?: string
}

/** The hooks of an agent whose file has the form of Claude Code's settings. */
export interface HookTable {
  /** As the agent calls them. */
  readonly events: readonly string[]
  /** What the agent runs for an event. */
  command(exePath: string, event: string): string
  /** The group that a command gets: it is called whatever happens, unless the event has a matcher. */
  entry(command: string, event: string): { readonly matcher?: string; readonly hooks: readonly [HookFields] }
  /** For which tools the event calls it; undefined: all. */
  matcher?(event: string): string | undefined
  /** Whether a command is ours, wherever its binary is or was. */
  isOurs(command: string): boolean
}

/** A text in quotation marks is a value to PowerShell, until it is told to call it. */
const CALL = "& "

function callFromPowerShell(exePath: string, words: string): string {
  expectOurBinary(exePath)
  return `${CALL}'${exePath.replaceAll("'", "''")}' hook ${words}`
}

export const CLAUDE_TABLE: HookTable = {
  events: HOST_EVENTS,
  command: (exePath, event) => hookCommand(exePath, event as ClaudeEvent),
  entry: hookEntry,
  matcher: (event) => MATCHERS[event],
  isOurs: isOurHook,
}

/** With the hook before tools, which is there only while somebody wants reminders. */
export const claudeTable = (config: Pick<Config, "recall.actions">): HookTable =>
  config["recall.actions"] ? { ...CLAUDE_TABLE, events: [...HOST_EVENTS, ...ACTION_EVENTS] } : CLAUDE_TABLE

/**
 * The same for another agent.
 *
 * @param names the agent's events, and ours
 * @param more fields of an event's entry
 * @param onWindows who runs a command whose path needs quotation marks: whatever shell runs the others, or PowerShell,
 * which some agents have to be told
 */
export const hookTable = (
  agent: string,
  names: Readonly<Record<string, EventName>>,
  more: (event: string) => object,
  onWindows: "any shell" | "powershell" | "powershell if told" = "any shell",
): HookTable => ({
  events: Object.keys(names),
  command: (exePath, event) => {
    const words = `${names[event]} ${agent}`
    const isQuoted = isOnDrive(exePath) && shellWord(exePath) !== exePath
    return isQuoted && onWindows !== "any shell"
      ? callFromPowerShell(exePath, words)
      : commandFor(exePath, words)
  },
  entry: (command, event) => {
    const shell =
      onWindows === "powershell if told" && command.startsWith(CALL) ? { shell: "powershell" } : {}
    return { hooks: [{ type: "command", command, ...more(event), ...shell }] }
  },
  isOurs: (command) => {
    const words = command.trimEnd()
    return words.endsWith(` ${agent}`) && ourWords(words.slice(0, -agent.length), ANY_COMMAND) !== undefined
  },
})

/** Our name for the hook, as `ctxbridge hook` takes it. */
export const hookName = (event: ClaudeEvent | ActionEvent) => ({ ...HOOKS, ...ACTION_HOOKS })[event]

/**
 * How our commands begin. The empty assignments keep a stray BUN_* variable from hijacking the binary. On Windows
 * Claude Code runs them in PowerShell where Git's shell is missing, which has no such assignments.
 */
export function ourProgram(exePath: string): string {
  expectOurBinary(exePath)
  if (isOnDrive(exePath)) return shellWord(exePath)
  const assignments = CLEARED.map((name) => `${name}= `).join("")
  return `${assignments}${shellWord(exePath)}`
}

/** Throws if an entry with this path would not be recognised as ours: the next install would add a second one. */
export function expectOurBinary(exePath: string): void {
  if (/^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(exePath) && isOurBinary(exePath)) return
  throw new CtxError("not-ctxbridge", `not the absolute path of a ctxbridge binary: ${exePath}`, {
    hint: "build it with `npm run build`, then run `dist/ctxbridge install`",
  })
}

const commandAt = (names: readonly EventName[]): RegExp =>
  new RegExp(
    String.raw`^\s*(?:&\s+)?((?:[A-Za-z_]\w*=(?:${SHELL_WORD})?\s+)*)(${SHELL_WORD})\s+hook\s+(?:${names.join("|")})\s*$`,
  )
const OUR_COMMAND = commandAt([...Object.values(HOOKS), ...Object.values(ACTION_HOOKS)])
/** The same for agents that call at other events, too, without their name. */
const ANY_COMMAND = commandAt(EVENTS)

/**
 * Whether a hook command in the settings is ours, wherever its binary is or was. A command that merely contains ours (a
 * wrapper, a pipe) belongs to whoever wrote it.
 */
export function isOurHook(command: string): boolean {
  return ourWords(command) !== undefined
}

/** The assignments before the binary, and the word that names the binary; undefined when the command is not ours. */
function ourWords(
  command: string,
  form = OUR_COMMAND,
): readonly [assignments: string, word: string] | undefined {
  const [, assignments = "", word = ""] = form.exec(command) ?? []
  return isOurBinary(word.replace(/['"]/g, "")) ? [assignments, word] : undefined
}

export interface OurHookCommand {
  /** The path of the binary, as the shell resolves it. */
  readonly binary: string
  /** Names of the variables that the command sets. */
  readonly variables: readonly string[]
}

/**
 * What one of our hook commands calls; undefined when the command is not ours.
 *
 * @param home the user's home folder, in case the command refers to it
 */
export function readOurHook(command: string, home: string): OurHookCommand | undefined {
  const words = ourWords(command)
  if (words === undefined) return undefined
  const [assignments, word] = words
  const variables = [...assignments.matchAll(/(?:^|\s)([A-Za-z_]\w*)=/g)].map(([, name]) => name!)
  return { binary: expandedWord(word, home), variables }
}
