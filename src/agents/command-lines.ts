/**
 * How agents' own command lines go on with a session, and begin one with a prompt, as their `--help` says: read of Claude
 * Code 2.1.330, Codex 0.169.0, opencode 1.18.33, Copilot CLI 1.0.102, Qwen Code 0.24.4 and Gemini CLI 0.61.0. An agent may
 * have a row here whose sessions are not archived. Pure.
 */
import { shellWord } from "../base/text.ts"

type Words = readonly string[]

interface CommandLine {
  readonly program: string
  /** Words after it; absent: no session can be named there. */
  readonly resume?: (session: string) => Words
  /** Words that begin a new session with this prompt, in which the user can go on. */
  readonly begin: (prompt: string) => Words
  /** Brings back a session that was put aside, before which it cannot be resumed. */
  readonly unarchive?: (session: string) => Words
  /** The variable that names its folder. */
  readonly folderIn?: string
}

const ROWS: Readonly<Record<string, CommandLine>> = {
  claude: {
    program: "claude",
    resume: (session) => ["--resume", session],
    begin: (prompt) => [prompt],
    folderIn: "CLAUDE_CONFIG_DIR",
  },
  codex: {
    program: "codex",
    resume: (session) => ["resume", session],
    begin: (prompt) => [prompt],
    unarchive: (session) => ["unarchive", session],
    folderIn: "CODEX_HOME",
  },
  opencode: {
    program: "opencode",
    resume: (session) => ["--session", session],
    begin: (prompt) => ["--prompt", prompt],
  },
  copilot: {
    program: "copilot",
    resume: (session) => ["--resume", session],
    begin: (prompt) => ["--interactive", prompt],
    folderIn: "COPILOT_HOME",
  },
  qwen: {
    program: "qwen",
    resume: (session) => ["--resume", session],
    begin: (prompt) => ["--prompt-interactive", prompt],
  },
  // Its help speaks of a number in a list only, but 0.61 takes the id as well.
  gemini: {
    program: "gemini",
    resume: (session) => ["--resume", session],
    begin: (prompt) => ["--prompt-interactive", prompt],
  },
}

/** @param agent its name, as in the table of agents */
export const commandLineOf = (agent: string): CommandLine | undefined =>
  Object.hasOwn(ROWS, agent) ? ROWS[agent] : undefined

/** Names of the agents that can be started with a prompt. */
export const STARTABLE: readonly string[] = Object.keys(ROWS)

/**
 * Why a program cannot be started with a prompt; undefined if it can.
 *
 * @param path where it was found, if it was
 */
export function whyNoPrompt({ program }: CommandLine, path: string | null): string | undefined {
  if (path === null) return `there is no ${program} on PATH`
  // Quoting that everybody else understands does not keep it from running what a text says.
  if (/\.(?:cmd|bat)$/i.test(path))
    return `${program} is a script, which Windows starts by cmd.exe: that would take signs in the prompt for its own`
  return undefined
}

/** As it is typed into a shell. */
export const typedCommand = ({ program }: CommandLine, words: Words): string =>
  [program, ...words].map(shellWord).join(" ")
