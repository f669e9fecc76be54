/** What a tool of the server is, and what it works on. */
import type { SecretSettings } from "../util/secrets.ts"
import type { Arguments, Property } from "./arguments.ts"

/** Where the server stands. */
export interface World {
  readonly home: string
  readonly dataHome: string
  /** The host's configuration folder: what its memory files say is not given back. */
  readonly claudeDir: string
  /** The host's own state file. */
  readonly hostConfig: string
  /** What must not get into the archive. */
  readonly secrets: SecretSettings
  /** Folders whose sessions must not get there. */
  readonly exclude: readonly string[]
  /** Folder of the project that the host works in. */
  readonly folder: string
  /** The host's session that has started us, where the host tells. */
  readonly session: string | undefined
  /** Most characters of a restore. */
  readonly restoreBudget: number
  /** Most turns of other sessions in it. */
  readonly restoreRelated: number
  /** ms since the epoch. */
  now(): number
}

export interface Answer {
  /** For the model. */
  readonly text: string
  /**
   * The same for programs. Newer hosts show the model this in place of the text, so it says all of it, and where the
   * text is long there is none: escaped as JSON it would only be longer.
   */
  readonly structured?: Readonly<Record<string, unknown>>
}

export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly properties: Readonly<Record<string, Property>>
  readonly required?: readonly string[]
  /** Whether it leaves everything as it is. */
  readonly readOnly: boolean
  /** Whether the host shall show it to the model without being asked for it. */
  readonly always?: boolean
  /** @throws CtxError with a hint, which the model is told */
  run(args: Arguments, world: World): Answer
}
