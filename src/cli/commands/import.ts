/** `ctxbridge import`: archives what already exists: agents' transcripts and other tools' archives. */

import { statSync } from "node:fs"
import {
  AGENT_NAMES,
  agentTitle,
  holdsRecord,
  isNamedAsTranscript,
  promptHistories,
  transcriptFolders,
} from "../../agents/agents.ts"
import { copyPlace, isDocument, placeBeside } from "../../agents/layouts.ts"
import { CtxError, EXIT } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { existsSync } from "../../base/fs.ts"
import { resolve } from "../../base/path.ts"
import { bytes, count } from "../../base/text.ts"
import { isPromptHistory } from "../../claude/places.ts"
import type { Paths } from "../../config/load.ts"
import { modelState } from "../../find/embed/model-files.ts"
import { foreignArchivesInPlace, looksForeign } from "../../job/import/open-archive.ts"
import { movesToTell, moveTold } from "../../job/import-done.ts"
import { copyOf, type ImportedFile, sizeOf } from "../../job/import-file.ts"
import { type ImportReport, importTranscripts } from "../../job/import-transcripts.ts"
import { spawnJob } from "../../job/spawn.ts"
import { endOfLines, linesIn } from "../../record/lines-with.ts"
import { LONGEST_UNCUT } from "../../vault/capture.ts"
import { readExactly } from "../../vault/copy-file.ts"
import { besideTranscript } from "../../vault/files-beside.ts"
import { withSource } from "../../vault/source-file.ts"
import { countDiskUse } from "../../views/disk-use.ts"
import { refuseUnwritable } from "../../views/unwritable.ts"
import { words } from "../args.ts"
import { type Command, type Environment, flag } from "../command.ts"
import { safe } from "../style.ts"
import { besideWords, transcriptsNamed } from "../transcripts-named.ts"

/** Files named in a list. */
const MOST_NAMED = 20
const PACKED = /\.(?:gz|zst|zip|xz|bz2|tar|tgz|7z)$/i
/** Minimum ms between two events of progress. */
const EVERY = 500

interface FilesToImport {
  readonly transcripts: readonly string[]
  /** Other tools' archives named on the command line. */
  readonly archives: readonly string[]
  /** Links found in folders, which are not followed. */
  readonly links: readonly string[]
  /** Files found in folders that hold nothing an agent wrote. */
  readonly notUnderstood: readonly string[]
}

export default {
  meta: { name: "import", description: "Archive the transcripts that already exist" },
  args: {
    path: {
      type: "positional",
      rest: true,
      description:
        "Transcripts, folders, or archives of claude-flow, claude-mem and leafhill; by default all transcripts of all agents",
      valueHint: "PATH…",
    },
    check: flag("Compare every archived byte first; archive again what differs"),
    quiet: flag("Print errors only, no progress", "q"),
    "no-wait": flag("Do not wait for other ctxbridge processes: exit with 1 if they are in the way"),
    "dry-run": flag("Show what would be archived; write nothing"),
  },
  run({ args, env, out }) {
    const quiet = args["quiet"] === true
    const dryRun = args["dry-run"] === true
    const named = find(words(args), env)
    if (!dryRun) refuseUnwritable(env.dataHome)
    // Never imported unasked: they are not ours, and nobody vouches for their content.
    const found = words(args).length > 0 ? [] : foreignArchivesInPlace(env)
    const { transcripts, archives, links, notUnderstood } = named
    // After all transcripts, since they belong to turns of these.
    const beside = transcripts.flatMap(besideTranscript)
    const paths = [...transcripts, ...beside, ...archives]
    // --json prints events, which docs/import.md describes.
    out.event({
      event: "start",
      files: paths.length,
      transcripts: transcripts.length,
      archives: archives.length,
      totalBytes: paths.reduce((sum, path) => sum + sizeOf(path), 0),
      dryRun,
    })
    let told = performance.now()
    if (!dryRun) out.resumable("Ctrl-C keeps what is archived; ctxbridge import continues")
    let isWaiting = false
    const onWait = (done: number, total: number): void => {
      if (!quiet) out.progress("waiting for another ctxbridge process", done, total, "bytes")
      // Once for each time it has to wait: attempts follow each other quickly.
      if (!isWaiting) out.event({ event: "waiting", doneBytes: done, totalBytes: total })
      isWaiting = true
    }
    const report = importTranscripts(env, [...transcripts, ...beside], {
      dryRun,
      check: args["check"] === true,
      archives,
      folder: env.cwd,
      mayStartChild: true,
      onFile: (file) => out.event({ event: "file", ...file }),
      ...(args["no-wait"] === true ? {} : { onWait }),
      onCheck: (done, total) => {
        if (!quiet) out.progress("comparing", done, total)
      },
      onProgress: (done, total) => {
        isWaiting = false
        if (!quiet) out.progress("archiving", done, total, "bytes")
        if (performance.now() - told < EVERY) return
        told = performance.now()
        out.event({ event: "progress", doneBytes: done, totalBytes: total })
      },
    })
    const noun = archives.length === 0 ? "transcript" : "file"
    const moves = movesToTell(report.moves).map((one) => safe(moveTold(one)))
    const said = [
      ...render(report, noun),
      ...moves,
      ...leftOut(notUnderstood),
      ...leftLinks(links),
      ...mention(found),
    ]
    // Said once, so also to whoever wants to hear little.
    out.print(quiet ? [...failures(report), ...moves] : said)
    out.event({ event: "done", ...report, found, links, notUnderstood })
    if (!dryRun && report.takenBytes > 0) {
      tryTo(() => embedSoon(env))
      countDiskUse(env.dataHome, Date.now())
    }
    return report.ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

/**
 * With a model, has the job make vectors of what was imported now instead of after the next session.
 *
 * @throws if the request cannot be written; the import is complete all the same
 */
function embedSoon({ dataHome, config }: Environment): void {
  if (config["search.meaning"] === "off" || modelState(dataHome).model === undefined) return
  spawnJob(dataHome, { transcripts: [], sweep: [], settle: false })
}

/**
 * @throws CtxError exit 64 for a path that is not there, exit 1 for a file that no agent and no other tool can have
 * written, exit 3 when nothing is found
 */
function find(paths: readonly string[], env: Environment): FilesToImport {
  const isOtherFile = (word: string): boolean => {
    const path = resolve(env.cwd, word)
    return (
      !path.endsWith(".jsonl") &&
      !isDocument(path) &&
      statSync(path, { throwIfNoEntry: false })?.isFile() === true
    )
  }
  const otherFiles = [...new Set(paths.filter(isOtherFile))]
  const archives = [...new Set(otherFiles.map((word) => resolve(env.cwd, word)).filter(looksForeign))]
  const others = paths.filter((word) => !isOtherFile(word))
  const folders = transcriptFolders(env)
  const links: string[] = []
  const onLink = (path: string): void => void links.push(path)
  const all = paths.length > 0 && others.length === 0 ? [] : transcriptsNamed(others, env, folders, onLink)
  const unknown = new Set(paths.length === 0 ? [] : all.filter((path) => !isUnderstood(env, path)))
  refuseUnknown([
    ...otherFiles.filter((word) => !archives.includes(resolve(env.cwd, word))),
    ...others.filter((word) => unknown.has(resolve(env.cwd, word))),
  ])
  const named = all.filter((path) => !unknown.has(path))
  const notUnderstood = [...unknown].sort()
  const histories = (paths.length > 0 ? [] : promptHistories(env)).filter(
    (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true,
  )
  // Last, since of sessions whose transcripts are there it shows nothing.
  const lists = [...named.filter(isPromptHistory), ...histories]
  const transcripts = [...named.filter((path) => !isPromptHistory(path)), ...lists]
  links.sort()
  if (transcripts.length + archives.length > 0) return { transcripts, archives, links, notUnderstood }
  const where = paths.length === 0 ? "in the folders of any agent" : `below ${paths.join(", ")}`
  const [other] = paths.length === 0 ? foreignArchivesInPlace(env) : []
  const [link] = links
  const [first] = notUnderstood
  throw new CtxError("no-transcripts", `no transcripts ${where}`, {
    hint:
      link !== undefined
        ? `there are links, which are followed only when they are named: ctxbridge import ${link}`
        : first !== undefined
          ? `${count(notUnderstood.length, ".jsonl file")} there, in which nothing is an agent's: ${first}${notUnderstood.length > 1 ? " …" : ""}`
          : other === undefined
            ? "name a folder or .jsonl files, or set CLAUDE_CONFIG_DIR or the variable of another agent (docs/agents.md)"
            : `found another tool's archive: ctxbridge import ${other}`,
    exit: EXIT.notFound,
  })
}

/** @throws CtxError if there are any: nothing is archived then */
function refuseUnknown(words: readonly string[]): void {
  const [first] = words
  if (first === undefined) return
  const packed = words.find((word) => PACKED.test(word))
  throw new CtxError(
    "not-understood",
    `no transcript of an agent, nor another tool's archive: ${words.join(", ")}`,
    {
      hint:
        packed !== undefined
          ? `unpack ${packed} first, then import what was in it`
          : "import takes transcripts (.jsonl), folders of them, and archives of claude-flow, claude-mem and leafhill",
    },
  )
}

/** @param noun what its files are called */
function render(report: ImportReport, noun: string): string[] {
  const { files, takenBytes, turns, promptsOnly, dryRun, indexError, mended } = report
  const besideChanged = files.filter(({ path, taken }) => taken > 0 && placeBeside(path) !== undefined).length
  const changed = files.filter(({ taken }) => taken > 0).length
  const waiting = files.filter((file) => file.waiting > 0).length
  const forgotten = files.filter((file) => file.forgotten).length
  const beside = files.filter(({ path }) => placeBeside(path) !== undefined)
  const lines = [
    `${count(files.length - beside.length, noun)}${besideWords(beside.length)} examined${ofAgents(files)}`,
  ]
  lines.push(
    takenBytes === 0
      ? nothingTaken(report)
      : `${dryRun ? "Would archive" : "Archived"} ${bytes(takenBytes)} from ${count(changed - besideChanged, noun)}${besideWords(besideChanged)}`,
  )
  const again = mended.reduce((sum, one) => sum + one.bytes, 0)
  if (mended.length > 0)
    lines.push(
      `Mended ${count(mended.length, "damaged copy", "damaged copies")}: ${bytes(again)} taken from Claude Code's transcripts again`,
    )
  for (const file of files) lines.push(...renderArchive(file))
  if (turns !== undefined) lines.push(`Turns in the archive: ${turns.before} before, ${turns.after} now`)
  if (promptsOnly !== undefined && promptsOnly > 0 && takenBytes > 0)
    lines.push(`Prompts only, as their transcripts are gone: ${count(promptsOnly, "session")}`)
  if (waiting > 0)
    lines.push(`${count(waiting, "unfinished last line")} skipped: Claude Code is still writing`)
  if (forgotten > 0) lines.push(`${count(forgotten, "transcript")} skipped: forgotten at your request`)
  const excluded = files.filter((file) => file.excluded).length
  if (excluded > 0) lines.push(`${count(excluded, "transcript")} skipped (capture.exclude)`)
  if (indexError !== undefined)
    lines.push(`${takenBytes > 0 ? "Archived, but not" : "Not"} indexed yet: ${safe(indexError)}`)
  return [...lines, ...failures(report)]
}

function nothingTaken({ files, dryRun, mended, ok }: ImportReport): string {
  if (files.some(({ error }) => error !== undefined)) return "Nothing was archived"
  return `Nothing new${dryRun || mended.length > 0 || !ok ? "" : ": everything was already archived"}`
}

/** How many are other agents' than Claude Code's. */
function ofAgents(files: readonly ImportedFile[]): string {
  const told = AGENT_NAMES.flatMap((name) => {
    const number = files.filter(({ path }) => copyPlace(path)?.top === name).length
    return number > 0 ? [`${number} of ${agentTitle(name)}`] : []
  })
  return told.length > 0 ? `, ${told.join(", ")}` : ""
}

function renderArchive({ path, archive }: ImportedFile): string[] {
  if (archive === undefined) return []
  const { taken, known, held, forgotten, excluded } = archive.lines
  const old = [
    ...(known > 0 ? [`${known} imported before`] : []),
    ...(held > 0 ? [`${held} skipped: already archived from Claude Code`] : []),
    ...(forgotten > 0 ? [`${forgotten} skipped: forgotten at your request`] : []),
    ...(excluded > 0 ? [`${excluded} skipped (capture.exclude)`] : []),
  ]
  return [
    `${archive.tool}: ${count(taken, "entry", "entries")} new in ${count(archive.sessions, "session")}${old.length > 0 ? `; ${old.join("; ")}` : ""} (${safe(path)})`,
  ]
}

/** As the system and SQLite say it. */
const NO_ROOM = /ENOSPC|disk is full/

function failures({ files }: ImportReport): string[] {
  const failed = files.filter(({ error }) => error !== undefined)
  // What all of them meet, such as a full disk, is said once.
  const why = [...Map.groupBy(failed, ({ error = "" }) => error)]
  const lines = why.slice(0, MOST_NAMED).map(([error, [first, ...more]]) => {
    const which = more.length === 0 ? "" : `${more.length + 1} files, such as `
    return `failed: ${which}${safe(first!.path)}: ${safe(error)}`
  })
  if (failed.length > lines.length) lines.push("--json lists all that failed")
  if (why.some(([error]) => NO_ROOM.test(error)))
    lines.push("Once there is room on the disk, ctxbridge import continues")
  return lines
}

function leftOut(notUnderstood: readonly string[]): string[] {
  if (notUnderstood.length === 0) return []
  const lines = [
    `${count(notUnderstood.length, "file")} skipped: nothing in ${notUnderstood.length === 1 ? "it" : "them"} is an agent's`,
    ...notUnderstood.slice(0, MOST_NAMED).map((path) => `skipped: ${safe(path)}`),
  ]
  if (notUnderstood.length > MOST_NAMED)
    lines.push(`and ${notUnderstood.length - MOST_NAMED} more; --json lists all`)
  return lines
}

function leftLinks(links: readonly string[]): string[] {
  const [first] = links
  if (first === undefined) return []
  return [
    `${count(links.length, "link")} not followed: ctxbridge import ${safe(first)}${links.length > 1 ? " …" : ""}`,
  ]
}

const mention = (found: readonly string[]): string[] =>
  found.map((path) => `Found another tool's archive, not imported: ctxbridge import ${safe(path)}`)

/* Which of the files that somebody names hold what an agent wrote. */

/** Bytes read at a time: at first, since nearly always the first line tells, and then. */
const FIRST = 64 << 10
const MORE = 1 << 20

type Place = Pick<Paths, "dataHome" | "home" | "claudeDir" | "named">

/**
 * Whether a `.jsonl` file is to be archived: it lies where an agent keeps transcripts, has been archived before, holds a
 * record of an agent's, or nothing at all. What cannot be read is, too: whoever opens it says why.
 */
function isUnderstood(place: Place, path: string): boolean {
  if (transcriptFolders(place).some((folder) => path.startsWith(`${folder}/`))) return true
  if (isNamedAsTranscript(path)) return true
  if (existsSync(copyOf(place, path))) return true
  try {
    return withSource(path, holdsOne) ?? true
  } catch {
    return true
  }
}

/** Whether some line is a record of an agent's, or no line says anything. */
function holdsOne(fd: number, size: number): boolean {
  let saysNothing = true
  let rest: Uint8Array = Buffer.alloc(0)
  for (let at = 0; at < size; ) {
    // A line longer than that is read in few pieces.
    const length = Math.min(at === 0 ? FIRST : Math.max(MORE, rest.length), size - at)
    const bytes = Buffer.concat([rest, readExactly(fd, at, length)])
    at += length
    const end = at < size ? endOfLines(bytes) : bytes.length
    for (const [from, to] of linesIn(bytes.subarray(0, end))) {
      const line = bytes.subarray(from, to)
      if (isEmpty(line)) continue
      saysNothing = false
      if (holdsRecord(line)) return true
    }
    rest = bytes.subarray(end)
    // No other program's lines are known to be as long.
    if (rest.length > LONGEST_UNCUT) return true
  }
  return saysNothing
}

/** White space, or the NUL that file systems leave after a crash. */
const isEmpty = (line: Uint8Array): boolean => line.every((byte) => byte <= 0x20)
