/** Defines a tool of the server, and the environment it works in. */
import type { PendingPrompt } from "../restore/gather.ts"
import type { SecretSettings } from "../secrets/filter.ts"
import type { Arguments, Property } from "./arguments.ts"

/** The server's environment. */
export interface ServerWorld {
  readonly home: string
  readonly dataHome: string
  /** The host's configuration folder. What its memory files say is not given back. */
  readonly claudeDir: string
  /** The host's own state file. */
  readonly hostConfig: string
  /** What must not get into the archive. */
  readonly secrets: SecretSettings
  /** Folders whose sessions must not get into the archive. */
  readonly exclude: readonly string[]
  /** Folder of the project in which the host works. */
  readonly folder: string
  /** The host's session that started us, if the host tells us. */
  readonly session: string | undefined
  /** Whether anything is given back at all. */
  readonly restores: boolean
  /** Maximum number of characters in a restore. */
  readonly restoreBudget: number
  /** Maximum number of other sessions' turns in a restore. */
  readonly restoreRelated: number
  /** A session's prompt that has not been fully answered. */
  waiting(session: string): PendingPrompt | undefined
  /** ms since the epoch. */
  now(): number
}

export interface Answer {
  /** For the model. */
  readonly text: string
  /**
   * The same for programs. Newer hosts show the model this instead of the text, so it must be complete. Omitted when
   * the text is long: as escaped JSON it would only be longer.
   */
  readonly structured?: Readonly<Record<string, unknown>>
}

export interface ServerTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly properties: Readonly<Record<string, Property>>
  readonly required?: readonly string[]
  /** Whether the tool changes nothing. */
  readonly readOnly: boolean
  /** Whether the host should show the tool to the model without being asked. */
  readonly always?: boolean
  /** @throws CtxError with a hint, which is passed on to the model */
  run(args: Arguments, world: ServerWorld): Answer
}
