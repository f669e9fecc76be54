/** The shape of a command file. */

import type { PathsAndPolicy } from "../config/load.ts"
import type { Config, Resolved } from "../config/options.ts"
import type { ProgressUnit } from "./progress.ts"

/** Names that are not fixed: of what is archived, of options, or of tags. `turn`: of a turn or a session. */
export type NameKind = "session" | "turn" | "tool" | "option" | "tag" | "project"

export interface ArgSpec {
  readonly type: "boolean" | "string" | "positional"
  readonly description: string
  readonly required?: boolean
  readonly default?: string | boolean
  readonly alias?: string
  readonly valueHint?: string
  /** A positional that takes all remaining words, which are in `args._rest`. */
  readonly rest?: boolean
  /** What its value names, for completions and hints. */
  readonly names?: NameKind
  /** Words of a line that has it, for the hint where it is missing. */
  readonly example?: string
  /** Of a number that may be left out: what stands for it then. */
  readonly bare?: string
  /** Of a flag: the option for which a file's name behind it stands, as in `--card year.svg`. */
  readonly file?: string
}

/** An option without a value. */
export const flag = (description: string, alias?: string): ArgSpec => ({
  type: "boolean",
  description,
  ...(alias && { alias }),
})

/** @param valueHint what help shows for the value; `a|b` also says what shells offer, `PATH`, `FILE` and `DIR` files */
export const option = (description: string, valueHint?: string, alias?: string): ArgSpec => ({
  type: "string",
  description,
  ...(valueHint && { valueHint }),
  ...(alias && { alias }),
})

/** An option whose value names something of the archive. */
export const naming = (names: NameKind, description: string, valueHint: string, alias?: string): ArgSpec => ({
  ...option(description, valueHint, alias),
  names,
})

/** The option of commands that print rows. */
const FORMAT_ARGS: Readonly<Record<string, ArgSpec>> = {
  format: option("For scripts: tsv, or fields in a text such as '{handle} {time}'", "FORMAT"),
}

/** Options that every command has. */
export const GLOBAL_ARGS: Readonly<Record<string, ArgSpec>> = {
  json: flag("One JSON document on stdout, for programs"),
  "no-pager": flag("Print long output at once, also at a terminal"),
  debug: flag("Show an error's stack trace"),
  help: flag("Show this help", "h"),
}

export interface Environment extends PathsAndPolicy {
  readonly cwd: string
  readonly exePath: string
  readonly config: Config
  readonly resolved: Resolved
  /** Configuration files that could not be parsed as TOML, each with the reason. */
  readonly broken: readonly string[]
}

export interface Output {
  readonly wantsJson: boolean
  /** Whether it goes to a terminal. */
  readonly terminal: boolean
  /** Whether file names may be links there. */
  readonly links: boolean
  readonly color: boolean
  /** Width of the terminal in columns; 80 if there is none. */
  readonly columns: number
  /** Prints lines for people; does nothing with --json. */
  print(text: string | readonly string[]): void
  /** Prints the one document of --json; does nothing without it. */
  json(value: unknown): void
  /** Prints a line of JSON at once, for commands whose --json reports on long work; does nothing without it. */
  event(value: unknown): void
  /** Writes bytes unchanged, with or without --json. */
  raw(bytes: Uint8Array): void
  /** Writes everything printed so far, before a question or a long wait. */
  flush(): void
  /** Writes the rest; what is longer than the screen is shown in a pager. */
  end(): Promise<void>
  /** Shows progress on stderr, but only to a person at a terminal. */
  progress(label: string, done: number, total: number, unit?: ProgressUnit): void
  /** What Ctrl-C leaves behind, and what goes on from there: shown above the progress for as long as that is. */
  resumable(text: string): void
  /** Erases the progress line, so that something else can be printed there. */
  clear(): void
}

/** Rows of a command's --json document, for --format. */
export interface RowSpec {
  /** The field of the document that holds them. */
  readonly list: string
  /** Fields that are the columns of `tsv`, and the others that a row may have. */
  readonly columns: readonly string[]
  readonly others: readonly string[]
}

export interface Context {
  readonly args: Readonly<Record<string, unknown>>
  readonly out: Output
  readonly env: Environment
}

export interface Command {
  readonly meta: {
    readonly name: string
    readonly description: string
    readonly hidden?: boolean
    /**
     * What to do when an option has a value that is not allowed. Without it, the command stops. `told`: continue after
     * a warning on stderr. `own`: continue, because the command reports it itself, or has nobody to report to. `unread`:
     * continue, because options are not even read before the command asks for them.
     */
    readonly badOptions?: "told" | "own" | "unread"
  }
  readonly args?: Readonly<Record<string, ArgSpec>>
  /** What --format prints; without it, there is no such option. */
  readonly rows?: RowSpec
  /** Returns the exit code; undefined means 0. */
  run(context: Context): Promise<number | void> | number | void
}

/** A command's own options and those that it shares with others. */
export const argsOf = ({
  args,
  rows,
}: Pick<Command, "args" | "rows">): Readonly<Record<string, ArgSpec>> => ({
  ...args,
  ...(rows && FORMAT_ARGS),
  ...GLOBAL_ARGS,
})
