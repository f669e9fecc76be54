/** Whether a program is patched, by whom, and whether it is still as the patch left it. */

import { closeSync, openSync, readFileSync, readSync, rmSync } from "node:fs"
import { decode, hashOf, readBytes, removeLeftovers } from "../../base/edited-file.ts"
import { tryTo } from "../../base/files.ts"
import { parseJson } from "../../base/json-files.ts"
import { objectOf, stringOf } from "../../record/json.ts"
import { findPlace, type PatchPlace } from "./find-place.ts"
import FUNCTION from "./inserted.js" with { type: "text" }

export type PatchStatus = "clean" | "patched" | "changed-since-patch" | "foreign-patch"

export interface ExaminedProgram {
  readonly file: string
  /** All of a bundle; of anything else, how it begins. */
  readonly bytes: Uint8Array
  readonly program: ProgramKind
  /** Why it cannot be patched, whatever it says: it is no bundle in UTF-8. */
  readonly noBundle: string | undefined
  readonly status: PatchStatus
  readonly record: PatchRecord | undefined
  /** Whether it was replaced since, most likely by an update. */
  readonly isReplaced: boolean
}

/** @param file with links resolved */
export function examineProgram(file: string): ExaminedProgram {
  // Native programs have hundreds of megabytes, and only how they begin matters.
  const begin = beginningOf(file)
  const program = programKind(file, begin)
  const bytes = program.kind === "bundle" ? readFileSync(file) : begin
  const text = program.kind === "bundle" ? tryTo(() => decode(bytes)) : undefined
  const record = readPatchRecord(file)
  const found = text === undefined ? undefined : patchIn(text)
  const hash = hashOf(bytes)
  const status = ((): PatchStatus => {
    if (hash === record?.patched) return "patched"
    if (found === "another") return "foreign-patch"
    // Ours, but nobody knows what was there before.
    if (found === "ours") return "changed-since-patch"
    return record === undefined || hash === record.original ? "clean" : "changed-since-patch"
  })()
  const noBundle = text === undefined ? reasonOf(program) : undefined
  return {
    file,
    bytes,
    program,
    noBundle,
    status,
    record,
    isReplaced: found === undefined && status !== "clean",
  }
}

/** Bytes that tell what a program is. */
const TELLING = 512

function beginningOf(file: string): Uint8Array {
  const fd = openSync(file, "r")
  try {
    const bytes = new Uint8Array(TELLING)
    return bytes.subarray(0, readSync(fd, bytes))
  } finally {
    closeSync(fd)
  }
}

function reasonOf(program: ProgramKind): string {
  switch (program.kind) {
    case "native":
      return `it is a native program (${program.format}), and only cli.js can be patched`
    case "script":
      return "it is a script that starts another program"
    case "bundle":
      return "it is not UTF-8"
    default:
      return "it is no JavaScript"
  }
}

/** What kind of program a file is, by how it begins. Pure. */

type ProgramKind =
  | { readonly kind: "bundle"; readonly runner: "node" | "bun" }
  | { readonly kind: "native"; readonly format: "ELF" | "Mach-O" | "PE" }
  | { readonly kind: "script" | "unknown" }

const MACH_O = new Set([0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe, 0xcafebabe, 0xbebafeca])

/** @param bytes how the file begins */
export function programKind(file: string, bytes: Uint8Array): ProgramKind {
  const begin = new TextDecoder("latin1").decode(bytes)
  if (begin.startsWith("\x7fELF")) return { kind: "native", format: "ELF" }
  if (begin.startsWith("MZ")) return { kind: "native", format: "PE" }
  if (bytes.length >= 4 && MACH_O.has(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)))
    return { kind: "native", format: "Mach-O" }
  if (begin.includes("\0")) return { kind: "unknown" }
  if (!begin.startsWith("#!"))
    return /\.[cm]?js$/.test(file) ? { kind: "bundle", runner: "node" } : { kind: "unknown" }
  const [, runner] = /^#![^\n]*\b(node|bun)\b/.exec(begin) ?? []
  return runner === "node" || runner === "bun" ? { kind: "bundle", runner } : { kind: "script" }
}

/* A bundle with our function in it, and the call of it. Pure. */

/** Around everything of ours. */
const BEGIN = "/*ctxbridge:prune*/"
const END = "/*ctxbridge:prune:end*/"
const NAME = "_aggressiveTextPrune"
/** Prunes what is to be summarised, without asking. */
export const SUMMARISED = "_ctxbridgeSummarised"

interface Insertion {
  /** Offset in the text before it. */
  readonly at: number
  readonly text: string
}

export interface PatchedText {
  readonly text: string
  readonly place: PatchPlace
  readonly insertions: readonly Insertion[]
}

/** Whose patch is in a text. Every tool that inserts at this place names its function so. */
export const patchIn = (text: string): "ours" | "another" | undefined =>
  text.includes(BEGIN) ? "ours" : text.includes(NAME) ? "another" : undefined

/** What a patch with a binary inserts, but for the names of a bundle: the same as long as nothing is to be renewed. */
export const functionFor = (binary: string): string =>
  FUNCTION.replace('"ctxbridge:binary"', () => JSON.stringify(binary))

/**
 * @param binary absolute path of the program that is asked
 * @returns why it cannot be patched, if anything is not as expected
 */
export function patchedText(text: string, binary: string): PatchedText | { readonly why: string } {
  if (text.includes(NAME)) return { why: "it is patched already" }
  const place = findPlace(text)
  if ("why" in place) return place
  const { messages, context, session, summarised } = place
  const inserted = functionFor(binary).replaceAll("ctxbridgeSession()", () => `${session.name}()`)
  const insertions = [
    { at: place.before, text: `${BEGIN}\n${inserted}${END}\n` },
    { at: place.call, text: `${BEGIN}${messages}=await ${NAME}(${messages},${context});${END}` },
    { at: summarised.start, text: `${BEGIN}${SUMMARISED}(` },
    { at: summarised.end, text: `)${END}` },
  ].sort((a, b) => a.at - b.at)
  const patched = withInsertions(text, insertions)
  const again = findPlace(patched)
  if ("why" in again) return { why: "the places were not found again in the result" }
  const moved = (offset: number): number =>
    insertions.reduce((sum, one) => (one.at <= offset ? sum + one.text.length : sum), offset)
  const wrapped = patched.slice(again.summarised.start, again.summarised.end)
  const isSame =
    again.before === moved(place.before) &&
    again.call === moved(place.call) &&
    again.messages === messages &&
    again.context === context &&
    wrapped === `${SUMMARISED}(${text.slice(summarised.start, summarised.end)})`
  return isSame ? { text: patched, place, insertions } : { why: "other places were found in the result" }
}

export function withInsertions(text: string, insertions: readonly Insertion[]): string {
  let result = ""
  let done = 0
  for (const { at, text: inserted } of insertions) {
    result += text.slice(done, at) + inserted
    done = at
  }
  return result + text.slice(done)
}

/** UTF-16 units shown before and after an insertion: a bundle's lines are far too long. */
const AROUND = 60

/** What is inserted, with a little of what stands around it. */
export function insertionDiff(text: string, insertions: readonly Insertion[]): string[] {
  const line = (part: string): string => ` …${part.replaceAll(/\s+/g, " ")}…`
  return insertions.flatMap(({ at, text: inserted }) => [
    `@@ ${at} @@`,
    line(text.slice(Math.max(0, at - AROUND), at)),
    ...inserted
      .trimEnd()
      .split("\n")
      .map((one) => `+${one}`),
    line(text.slice(at, at + AROUND)),
  ])
}

/* What is noted of a patch beside the program: what was there, and what is there now. */

export interface PatchRecord {
  /** SHA-256 of the program before and after. */
  readonly original: string
  readonly patched: string
  /** The program that is asked. */
  readonly binary: string
  /** SHA-256 of the function that was inserted. */
  readonly inserted: string
  /** Of Claude Code. */
  readonly version: string
}

export const backupFile = (file: string): string => `${file}.backup`
export const recordFile = (file: string): string => `${file}.ctxbridge.json`

function readPatchRecord(file: string): PatchRecord | undefined {
  const bytes = tryTo(() => readBytes(recordFile(file)))
  const noted = objectOf(parseJson(new TextDecoder().decode(bytes)))
  const text = (name: keyof PatchRecord): string => stringOf(noted[name]) ?? ""
  const record = {
    original: text("original"),
    patched: text("patched"),
    binary: text("binary"),
    inserted: text("inserted"),
    version: text("version"),
  }
  return record.original === "" || record.patched === "" ? undefined : record
}

/** The program before the patch; undefined if that is not what the backup holds. */
export function readBackup(file: string, { original }: PatchRecord): Uint8Array | undefined {
  const bytes = tryTo(() => readBytes(backupFile(file)))
  return bytes !== undefined && hashOf(bytes) === original ? bytes : undefined
}

/** The backup first: without a record, nobody would know whose it is. */
export function dropPatchRecord(file: string, record: PatchRecord): void {
  if (readBackup(file, record) !== undefined) rmSync(backupFile(file), { force: true })
  rmSync(recordFile(file), { force: true })
  // What was being written when a patch was killed.
  for (const path of [file, backupFile(file), recordFile(file)]) removeLeftovers(path)
}
