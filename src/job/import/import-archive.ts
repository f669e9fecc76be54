/** Imports another tool's archive into the vault, one copy per session. Needs no database of ours. */
import { transcriptName } from "../../agents/layouts.ts"
import { messageOf } from "../../base/errors.ts"
import { parseJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import { sha256Of } from "../../base/sha256.ts"
import type { Paths, Policy } from "../../config/load.ts"
import type { Part } from "../../record/types.ts"
import { appendMade } from "../../vault/append-made.ts"
import { isImportedCopy, vaultFile } from "../../vault/layout.ts"
import { setAsideIfDamaged } from "../../vault/mend-copy.ts"
import { markPending } from "../../vault/pending.ts"
import { tailOf } from "../../vault/reader.ts"
import { forgottenOf } from "../../vault/tombstones.ts"
import { vaultFiles } from "../../vault/vault-files.ts"
import { isExcludedFolder } from "../../views/excluded.ts"
import { recordsFrom } from "../../views/records.ts"
import { openForeignArchive } from "./open-archive.ts"
import type { ForeignSession, Item, Tool } from "./row-values.ts"

interface Lines {
  readonly taken: number
  readonly known: number
  readonly held: number
  readonly forgotten: number
  readonly excluded: number
}

const NONE: Lines = { taken: 0, known: 0, held: 0, forgotten: 0, excluded: 0 }

type TakenSession = Pick<TakenForeignArchive, "lines" | "before" | "taken">

const nothing = (lines: Partial<Lines>): TakenSession => ({
  lines: { ...NONE, ...lines },
  before: 0,
  taken: 0,
})

export interface TakenForeignArchive {
  readonly tool: Tool
  readonly sessions: number
  /**
   * Counts of lines: new ones, ones imported before, ones whose text the vault already has from Claude Code, and ones
   * of sessions that the user wants forgotten, or whose folder is excluded.
   */
  readonly lines: Lines
  /** Bytes of lines that the vault had before, and of new ones. */
  readonly before: number
  readonly taken: number
  /** Why not all of it could be taken, as far as it is readable and the vault can be written. */
  readonly error: string | undefined
}

interface TakeForeignOptions extends Pick<Paths, "dataHome" | "home">, Policy {
  /** Folder for a copy of a database that is in use. */
  readonly scratch: string
  readonly dryRun: boolean
  /** First set aside copies that are damaged, so that their sessions are taken again. */
  readonly check: boolean
}

/**
 * One session that cannot be taken must not keep the others out.
 *
 * @param file absolute path
 * @throws CtxError `foreign-damaged`, `foreign-unknown`, `foreign-busy`, before anything is taken
 */
export function takeForeignArchive(file: string, options: TakeForeignOptions): TakenForeignArchive {
  const archive = openForeignArchive(file, options.scratch)
  try {
    const from: Provenance = { tool: archive.tool, file, sha256: sha256Of(file) }
    const copies = copiesBySession(options.dataHome)
    const lines = { ...NONE }
    const errors: string[] = []
    let sessions = 0
    let before = 0
    let taken = 0
    try {
      for (const session of archive.sessions()) {
        try {
          const one = takeSession(session, from, copies, options)
          for (const kind of Object.keys(lines) as (keyof typeof lines)[]) lines[kind] += one.lines[kind]
          if (one.lines.taken + one.lines.known > 0) sessions++
          before += one.before
          taken += one.taken
        } catch (error) {
          errors.push(`session ${sessionName(session.id, archive.tool)}: ${messageOf(error)}`)
        }
      }
    } catch (error) {
      // A row that cannot be read: nothing comes after it.
      errors.push(messageOf(error))
    }
    const [first] = errors
    const error = errors.length > 1 ? `${first}; and ${errors.length - 1} more` : first
    return { tool: archive.tool, sessions, lines, before, taken, error }
  } finally {
    archive.close()
  }
}

function takeSession(
  session: ForeignSession,
  from: Provenance,
  copies: Copies,
  options: TakeForeignOptions,
): TakenSession {
  const { dataHome, dryRun, check, secrets } = options
  const all = session.items.length
  if (session.cwd !== undefined && isExcludedFolder(options, session.cwd)) return nothing({ excluded: all })
  const name = sessionName(session.id, from.tool)
  // No such file exists: the path records the source and the session. Without `~` it would be below the archive, which
  // is not a folder.
  const path = join(`${from.file}~`, `${name}.jsonl`)
  // Under either name, because the tool recorded a session of Claude Code.
  const wishes = [session.id, name].flatMap((id) => forgottenOf(dataHome, id, path) ?? [])
  if (wishes.some(({ whole }) => whole)) return nothing({ forgotten: all })
  const isHeld = isHeldIn(copies.get(session.id) ?? [])
  const fresh = session.items.filter((item) => !isHeld(item))
  const wanted = distinct(fresh.map((item) => markedLine(session, item, from)))
  const held = all - fresh.length
  if (wanted.length === 0) return nothing({ held })
  const first = firstLine(session, from)
  const copy = join("imported", from.tool, `${name}.jsonl.zst`)
  if (check && !dryRun) setAsideIfDamaged(vaultFile(dataHome, copy), path, Date.now())
  let chosen: MadeLine[] = []
  const made = appendMade({
    copy: vaultFile(dataHome, copy),
    path,
    now: Date.now(),
    dryRun,
    secrets,
    edit: (content) => wishes.reduce((text, { edit }) => edit(text, 0), content),
    choose: (there) => {
      const known = uuidsIn(there)
      chosen = wanted.filter(({ uuid }) => !known.has(uuid))
      if (chosen.length === 0) return []
      return (known.has(first.uuid) ? chosen : [first, ...chosen]).map(({ text }) => text)
    },
    onBegin: () => markPending(dataHome, { path, copy, session: name }),
  })
  const known = wanted.length - chosen.length
  return { lines: { ...NONE, taken: chosen.length, known, held }, ...made }
}

/** The tools store some rows twice. */
function distinct(lines: readonly MadeLine[]): MadeLine[] {
  const seen = new Set<string>()
  return lines.filter(({ uuid }) => !seen.has(uuid) && seen.add(uuid))
}

function uuidsIn(contents: Iterable<Uint8Array>): Set<string> {
  const found = new Set<string>()
  for (const content of contents) {
    for (const line of Buffer.from(content).toString("utf8").split("\n")) {
      if (line !== "") found.add(String((JSON.parse(line) as { uuid: unknown }).uuid))
    }
  }
  return found
}

/* What the vault already has of a session that another tool also recorded, so that nothing is stored twice. */

/** Copies of Claude Code's transcripts, by session. */
type Copies = ReadonlyMap<string, readonly string[]>

function copiesBySession(dataHome: string): Copies {
  const found = new Map<string, string[]>()
  for (const { copy } of vaultFiles(dataHome)) {
    if (isImportedCopy(copy)) continue
    const file = vaultFile(dataHome, copy)
    const session = transcriptName(tailOf(file)?.header.path ?? "").session
    if (session !== undefined) found.set(session, [...(found.get(session) ?? []), file])
  }
  return found
}

/** Tells whether the copies already contain an item's text. */
function isHeldIn(files: readonly string[]): (item: Item) => boolean {
  const words = new Set<bigint>()
  const calls = new Set<string>()
  for (const file of files) {
    for (const part of partsOf(file)) {
      if (part.kind === "toolUse") calls.add(`call ${part.id}`)
      else if (part.kind === "toolResult") calls.add(`result ${part.id}`)
      if ("text" in part) words.add(essence(part.text))
    }
  }
  return ({ kind, text, tool }) =>
    tool === undefined ? kind !== "title" && words.has(essence(text)) : calls.has(`${kind} ${tool.id}`)
}

/** Tools trim text, and one marks thinking. */
const essence = (text: string): bigint =>
  Bun.hash.xxHash64(
    text
      .replace(/^\[thinking\] /, "")
      .replace(/\s+/g, " ")
      .trim(),
    0n,
  )

/** Yields those before any damage: storing an item twice is better than losing it. */
function* partsOf(file: string): Generator<Part> {
  try {
    for (const { record } of recordsFrom(file)) yield* record.parts
  } catch {
    return
  }
}

/*
 * Turns another tool's session into lines of a transcript. Pure.
 *
 * The lines look like Claude Code's, so that the same decoder reads them. Each is marked: `ctxbridge.import` names the
 * tool, the file and the row. Their content is not trusted.
 */

interface Provenance {
  readonly tool: Tool
  /** Absolute path of the archive. */
  readonly file: string
  /** Hash of the archive as it was read, in hexadecimal. */
  readonly sha256: string
}

interface MadeLine {
  /** The same for the same text, in whatever file and row it is. */
  readonly uuid: string
  readonly text: string
}

/** The first line of a session's copy, which records the source of all its lines. */
function firstLine(session: ForeignSession, from: Provenance): MadeLine {
  const uuid = nameOf(from.tool, session.id, "", "")
  const { tool, file, sha256 } = from
  return line(uuid, {
    type: "ctxbridge-import",
    uuid,
    sessionId: session.id,
    ctxbridge: { import: { tool, sha256, file } },
  })
}

function markedLine(session: ForeignSession, item: Item, { tool, sha256 }: Provenance): MadeLine {
  const uuid = nameOf(tool, session.id, item.kind, item.key)
  const mark = { tool, sha256, table: item.table, row: item.row, ...(item.fields && { fields: item.fields }) }
  return line(uuid, {
    ...contentOf(item, uuid),
    uuid,
    parentUuid: null,
    isSidechain: false,
    sessionId: session.id,
    timestamp: item.time,
    cwd: session.cwd,
    ctxbridge: { import: mark },
  })
}

const line = (uuid: string, fields: object): MadeLine => ({ uuid, text: `${JSON.stringify(fields)}\n` })

function contentOf({ kind, text, tool, model, usage }: Item, uuid: string): object {
  switch (kind) {
    case "title":
      return { type: "custom-title", customTitle: text }
    case "prompt":
      return { type: "user", message: { role: "user", content: text } }
    case "note":
      return { type: "user", isMeta: true, message: { role: "user", content: text } }
    case "result":
      return {
        type: "user",
        message: {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: tool?.id ?? "", content: text }],
        },
      }
    case "call":
      return {
        type: "assistant",
        message: {
          role: "assistant",
          content: [{ type: "tool_use", id: tool?.id ?? "", name: tool?.name ?? "", input: inputOf(text) }],
        },
      }
    case "answer":
      return {
        type: "assistant",
        message: {
          role: "assistant",
          ...(usage && { id: uuid, usage }),
          ...(model && { model }),
          content: [{ type: "text", text }],
        },
      }
  }
}

function inputOf(text: string): unknown {
  const input = parseJson(text)
  return input === undefined ? text : input
}

/** A name in the form of a UUID (version 8: custom). */
function nameOf(...parts: readonly string[]): string {
  const hex = new Bun.CryptoHasher("sha256").update(JSON.stringify(parts)).digest("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Ids that are valid file names and that Claude Code's layout does not reserve for subagents. */
const PLAIN = /^(?!agent-)[A-Za-z0-9][\w-]{0,127}$/

/** The session's name in our archive: the tool's name is added so that it does not clash with Claude Code's session. */
function sessionName(session: string, tool: Tool): string {
  const hash = (): string => `s${Bun.hash.xxHash64(session, 0n).toString(16)}`
  return `${PLAIN.test(session) ? session : hash()}~${tool}`
}
