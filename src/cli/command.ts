/** What a command file is. The router alone knows the library behind it. */

import type { Config, Resolved } from "../config/options.ts"
import type { SecretSettings } from "../util/secrets.ts"

export interface ArgSpec {
  readonly type: "boolean" | "string" | "positional"
  readonly description: string
  readonly required?: boolean
  readonly default?: string | boolean
  readonly alias?: string
  readonly valueHint?: string
  /** A positional that takes every remaining word; `args._rest` holds them. */
  readonly rest?: boolean
}

/** Options of every command. */
export const GLOBAL_ARGS: Readonly<Record<string, ArgSpec>> = {
  json: { type: "boolean", description: "One JSON document on stdout, for programs" },
  debug: { type: "boolean", description: "Show an error's stack trace" },
  help: { type: "boolean", description: "Show this help", alias: "h" },
}

export interface Environment {
  /** The user's home folder. */
  readonly home: string
  readonly cwd: string
  /** The host's configuration folder: CLAUDE_CONFIG_DIR, else ~/.claude. */
  readonly claudeDir: string
  /** The host's own state file: .claude.json in CLAUDE_CONFIG_DIR, else in the home folder. */
  readonly hostConfig: string
  /** Where the vault and the archive are. */
  readonly dataHome: string
  /** Logs and locks. */
  readonly stateHome: string
  readonly configFile: string
  /** For temporary files. */
  readonly temporary: string
  /** What must not get into the archive. */
  readonly secrets: SecretSettings
  /** Folders whose sessions must not get there. */
  readonly exclude: readonly string[]
  readonly exePath: string
  readonly config: Config
  readonly resolved: Resolved
  /** Configuration files that could not be read as TOML, with the reason. */
  readonly broken: readonly string[]
}

export interface Output {
  readonly wantsJson: boolean
  readonly color: boolean
  /** Width of the terminal in columns; 80 where there is none. */
  readonly columns: number
  /** A line for people; nothing under --json. */
  print(text: string): void
  /** The one document of --json; nothing without it. */
  json(value: unknown): void
  /** A line of JSON at once, for commands whose --json tells of long work as it goes; nothing without it. */
  event(value: unknown): void
  /** Bytes as they are, whatever the mode. */
  raw(bytes: Uint8Array): void
  /** Writes what has been printed so far, before a question or a long wait. */
  flush(): void
  /** Progress on stderr, only for a person at a terminal. */
  progress(label: string, done: number, total: number): void
  /** Takes the progress off its line, for what comes there next. */
  clear(): void
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
     * What becomes of the command when an option has a value that is not allowed. Without it the command stops;
     * `told`: it goes on, and stderr says so; `own`: it goes on, and tells of it itself, has nobody to tell, or looks at no
     * option.
     */
    readonly badOptions?: "told" | "own"
  }
  readonly args?: Readonly<Record<string, ArgSpec>>
  /** Returns the exit code; nothing means 0. */
  run(context: Context): Promise<number | void> | number | void
}
