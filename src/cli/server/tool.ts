/** Defines a tool of the server, and the environment it works in. */
import type { Paths, Policy } from "../../config/load.ts"
import type { FarTarget } from "../../find/elsewhere.ts"
import type { PendingPrompt } from "../../restore/gather.ts"
import type { Learning } from "../../restore/restore.ts"
import type { Arguments, Property } from "./arguments.ts"

/** The server's environment. */
export interface ServerWorld
  extends Policy,
    Pick<Paths, "home" | "dataHome" | "stateHome" | "claudeDir" | "hostConfig"> {
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
  /** What restores may use of what was learnt. */
  readonly learning?: Learning | undefined
  /** Where turns are kept besides the archive, as far as it is configured. */
  readonly targets: readonly FarTarget[]
  /** A session's prompt that has not been fully answered. */
  waiting(session: string): PendingPrompt | undefined
  /** ms since the epoch. */
  now(): number
}

/** Text only: several hosts show the model structured content in place of the text, as longer JSON. */
export interface Answer {
  readonly text: string
}

export interface ServerTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly properties: Readonly<Record<string, Property>>
  /** Further ones, for whoever has a target configured. */
  readonly withTarget?: Readonly<Record<string, Property>>
  readonly required?: readonly string[]
  /** Whether the tool changes nothing. */
  readonly readOnly: boolean
  /** Whether the host should show the tool to the model without being asked. */
  readonly always?: boolean
  /** @throws CtxError with a hint, which is passed on to the model */
  run(args: Arguments, world: ServerWorld): Answer | Promise<Answer>
}
