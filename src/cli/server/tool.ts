/** Defines a tool of the server, and the environment it works in. */

import { existsSync } from "node:fs"
import { AGENT_NAMES } from "../../agents/agents.ts"
import { CtxError, codeOf, EXIT, messageOf, usageError } from "../../base/errors.ts"
import { realpathSync } from "../../base/fs.ts"
import { cut } from "../../base/text.ts"
import type { Paths, Policy } from "../../config/load.ts"
import type { Config } from "../../config/options.ts"
import type { FarTarget } from "../../find/elsewhere.ts"
import { ALSO_ROLES, ROLES } from "../../find/parse-query.ts"
import type { PendingPrompt } from "../../restore/gather.ts"
import { findByName, findSessionByName, type TurnOrSession } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { projectOf } from "../../views/project.ts"
import { archivedAs } from "../../views/queries/projects.ts"
import type { Session } from "../../views/queries/sessions.ts"

/** The server's environment. */
export interface ServerWorld
  extends Policy,
    Pick<Paths, "home" | "dataHome" | "stateHome" | "claudeDir" | "claudeConfig"> {
  readonly config: Pick<Config, "search.meaning">
  /** Folder of the project in which Claude Code works. */
  readonly folder: string
  /** Claude Code's session that started us, if it tells us. */
  readonly session: string | undefined
  /** Whether anything is given back at all. */
  readonly restores: boolean
  /** Maximum number of characters in a restore. */
  readonly restoreBudget: number
  /** Maximum number of other sessions' turns in a restore. */
  readonly restoreRelated: number
  /** Where turns are kept besides the archive, as far as it is configured. */
  readonly targets: readonly FarTarget[]
  /** A session's prompt that has not been fully answered. */
  waiting(session: string): PendingPrompt | undefined
  /** ms since the epoch. */
  now(): number
}

/** Text only: several clients show the model structured content in place of the text, as longer JSON. */
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
  /** Whether Claude Code should show the tool to the model without being asked. */
  readonly always?: boolean
  /** @throws CtxError with a hint, which is passed on to the model */
  run(args: Arguments, world: ServerWorld): Answer | Promise<Answer>
}

/*
 * A tool's arguments, as a model made them up. Read by name, and rejected with a hint if they do not match the
 * description. Pure.
 */

/** The part of JSON Schema that we use. */
interface Property {
  readonly type: "string" | "integer" | "boolean"
  readonly description?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
}

/** The argument of tools that can narrow what they find to one agent's sessions. */
export const AGENT_PROPERTY: Property = {
  type: "string",
  description: "Only sessions of this agent",
  enum: AGENT_NAMES,
}

export class Arguments {
  readonly #values: ReadonlyMap<string, unknown>

  /** @throws CtxError for an unknown or missing name, or a value of the wrong type or out of range */
  constructor(
    given: unknown,
    properties: Readonly<Record<string, Property>>,
    required: readonly string[] = [],
  ) {
    if (given !== undefined && (typeof given !== "object" || given === null || Array.isArray(given))) {
      throw usageError("the arguments are not an object", namesOf(properties))
    }
    const values = new Map<string, unknown>()
    for (const [name, value] of Object.entries(given ?? {})) {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (property === undefined) throw usageError(`unknown argument: ${shown(name)}`, namesOf(properties))
      // Some models write null for arguments that they omit.
      if (value === null || value === undefined) continue
      const meant = meantBy(value, property)
      check(name, meant, property)
      values.set(name, meant)
    }
    for (const name of required) {
      if (!values.has(name)) throw usageError(`${name} is missing`, properties[name]?.description)
    }
    this.#values = values
  }

  /** The value trimmed; undefined when nothing remains. */
  text(name: string): string | undefined {
    return (this.#values.get(name) as string | undefined)?.trim() || undefined
  }

  number(name: string): number | undefined {
    return this.#values.get(name) as number | undefined
  }

  flag(name: string): boolean {
    return this.#values.get(name) === true
  }
}

/** What a model writes as a string is taken for what it says, and a list of words for the words. */
function meantBy(value: unknown, { type, enum: words }: Property): unknown {
  if (type === "string") {
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join(" ")
    if (typeof value === "number") return String(value)
    if (words === undefined || typeof value !== "string") return value
    const word = value.trim().toLowerCase()
    const alias = Object.hasOwn(ALSO_ROLES, word) ? ALSO_ROLES[word]! : word
    const kept = Object.hasOwn(ROLES, alias) ? ROLES[alias as keyof typeof ROLES] : alias
    return words.includes(kept) ? kept : value
  }
  if (typeof value !== "string") return value
  const text = value.trim().toLowerCase()
  if (type === "integer") return /^-?\d{1,15}(?:\.0+)?$/.test(text) ? Number(text) : value
  return text === "true" ? true : text === "false" ? false : value
}

function check(name: string, value: unknown, { type, enum: words, minimum, maximum }: Property): void {
  const isRight = type === "integer" ? Number.isSafeInteger(value) : typeof value === type
  if (!isRight) throw usageError(`${name} must be ${ARTICLE[type]} ${type}, not ${shown(value)}`)
  if (words !== undefined && !words.includes(value as string)) {
    throw usageError(`${name} cannot be ${shown(value)}`, `one of ${words.join(", ")}`)
  }
  const low = minimum !== undefined && (value as number) < minimum
  const high = maximum !== undefined && (value as number) > maximum
  const range = maximum === undefined ? `at least ${minimum}` : `from ${minimum} to ${maximum}`
  if (low || high) throw usageError(`${name} must be ${range}, not ${value}`)
}

const ARTICLE = { string: "a", boolean: "a", integer: "an" } as const

const LONGEST_SHOWN = 40

/** The beginning of a given value on one line, for an error message. */
const shown = (value: unknown): string => cut(JSON.stringify(value) ?? typeof value, LONGEST_SHOWN)

const namesOf = (properties: Readonly<Record<string, Property>>): string => {
  const names = Object.keys(properties)
  return names.length === 0 ? "it takes no arguments" : `it takes ${names.join(", ")}`
}

/*
 * What a model means by a name: a turn or session, and by none: the project in which Claude Code works. Errors speak of
 * tools, since the model may have no shell.
 */

/** @throws CtxError for a name that matches nothing, or several things */
export const turnOrSession = (db: Database, word: string): TurnOrSession => hinted(() => findByName(db, word))

/** @throws CtxError for a name that matches nothing, several things, or a turn */
export const namedSession = (db: Database, word: string): Session => hinted(() => findSessionByName(db, word))

function hinted<T>(look: () => T): T {
  try {
    return look()
  } catch (error) {
    if (codeOf(error) !== "not-found") throw error
    throw new CtxError("not-found", messageOf(error), {
      hint: "search and timeline give handles, timeline and status the ids of sessions",
      exit: EXIT.notFound,
    })
  }
}

export const projectIn = (world: Pick<ServerWorld, "folder">): string => projectOf(folderIn(world))

/** The same under the name that the archive uses; in a folder of which nothing is archived, the project above it. */
export const knownProjectIn = (db: Database, world: Pick<ServerWorld, "folder" | "home">): string =>
  archivedAs(db, projectIn(world), world.home)!

/** The folder in which the Claude Code that started the server works, with links resolved. */
export const folderIn = ({ folder }: Pick<ServerWorld, "folder">): string =>
  existsSync(folder) ? realpathSync(folder) : folder
