/**
 * A seeded generator of transcripts in the host's true shape: the same options give the same bytes, on any
 * machine, for ever. Nothing here reads a clock or a random source.
 *
 * What it imitates: 38 MB of published Claude Code sessions, mostly of 2.1.204 – 2.1.233. Taken from them:
 *  - one content block a line, `message.id` and usage repeated over the lines of one message, the
 *    uuid/parentUuid chain, tool results beside their `toolUseResult` (which says everything twice);
 *  - sizes, as quantile tables: lines a turn (median 13, p90 100), prompts (135 characters, now and then a
 *    pasted log), thinking (mostly empty, with a signature of 1.3 KB base64), tool inputs (300 characters);
 *  - which tools are called how often (Bash 54 %, Edit 18 %, Read 11 %, Write 5 %);
 *  - the lines between: file-history-snapshot, mode, last-prompt, ai-title, attachments, queue-operations,
 *    stop_hook_summary, turn_duration, and a compaction whenever the window is full;
 *  - zstd level 3 ratio: theirs 3.4 – 9.3 a file (median 6.5) whole, 2.4 – 4.6 in pieces of 20 KB.
 *
 * Where it deviates: what reads and commands print is larger (median 0.9 KB; over all tools 0.34 KB, as theirs,
 * but on average 2.1 KB, theirs 1.4) with a few results of 100 – 400 KB (theirs end at 70), so that per-byte
 * costs are not flattered; prose is words drawn from a
 * small vocabulary and means nothing; one project, one branch, no subagents, no malformed lines, English only.
 */
import { closeSync, openSync, writeSync } from "node:fs"
import type { CorpusOptions, Line } from "./corpus-chain.ts"
import { Session } from "./corpus-session.ts"

export interface CorpusSize {
  readonly lines: number
  readonly bytes: number
  /** Prompts of a human; a compaction's summary is none. */
  readonly turns: number
  /** To continue with, see `CorpusOptions.after`. */
  readonly lastUuid: string | undefined
}

/** Returns the uuid of the last record that it handed over. */
function* limited(options: CorpusOptions): Generator<Line, string | undefined> {
  const session = new Session(options)
  let bytes = 0
  let turns = 0
  let lastUuid: string | undefined
  for (const line of session.lines()) {
    if (line.prompt && turns === options.turns) break
    if (line.prompt) turns++
    yield line
    lastUuid = line.uuid ?? lastUuid
    bytes += Buffer.byteLength(line.text)
    if (bytes >= options.bytes) break
  }
  return lastUuid
}

/** The lines of a transcript, each with its newline. */
export function* generateTranscript(options: CorpusOptions): Generator<string> {
  for (const line of limited(options)) yield line.text
}

/** Streams a transcript to a new file; memory stays below a few megabytes whatever the size. */
export function writeTranscript(path: string, options: CorpusOptions): CorpusSize {
  return write(path, "w", options)
}

/** Goes on writing at the end of a transcript; give `after`, and a seed of its own. */
export function appendTranscript(path: string, options: CorpusOptions): CorpusSize {
  return write(path, "a", options)
}

function write(path: string, mode: "w" | "a", options: CorpusOptions): CorpusSize {
  const file = openSync(path, mode, 0o600)
  let lines = 0
  let bytes = 0
  let turns = 0
  let pending: string[] = []
  let pendingChars = 0
  const flush = () => {
    const block = Buffer.from(pending.join(""))
    for (let done = 0; done < block.length; ) done += writeSync(file, block, done)
    bytes += block.length
    pending = []
    pendingChars = 0
  }
  try {
    const generator = limited(options)
    let next = generator.next()
    for (; next.done !== true; next = generator.next()) {
      lines++
      if (next.value.prompt) turns++
      pending.push(next.value.text)
      pendingChars += next.value.text.length
      if (pendingChars > 1_000_000) flush()
    }
    flush()
    return { lines, bytes, turns, lastUuid: next.value }
  } finally {
    closeSync(file)
  }
}
