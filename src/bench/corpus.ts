/**
 * A seeded generator of transcripts in the host's real format. The same options always give the same bytes, on any
 * machine. Nothing here reads a clock or a random source.
 *
 * It imitates 38 MB of published Claude Code sessions, mostly from 2.1.204 – 2.1.233. Taken from them:
 * - one content block per line, `message.id` and usage repeated over the lines of one message, the uuid/parentUuid
 *   chain, tool results along with `toolUseResult` (which repeats everything);
 * - sizes, as quantile tables: lines per turn (median 13, p90 100), prompts (135 characters, occasionally a pasted
 *   log), thinking (mostly empty, with a signature of 1.3 KB base64), tool inputs (300 characters);
 * - how often each tool is called (Bash 54 %, Edit 18 %, Read 11 %, Write 5 %);
 * - the lines in between: file-history-snapshot, mode, last-prompt, ai-title, attachments, queue-operations,
 *   stop_hook_summary, turn_duration, and a compaction whenever the window is full;
 * - the zstd level 3 ratio: in the originals 3.4 – 9.3 for whole files (median 6.5), 2.4 – 4.6 in pieces of 20 KB.
 *
 * Differences: the output of reads and commands is larger (median 0.9 KB; over all tools 0.34 KB as in the originals,
 * but on average 2.1 KB instead of 1.4), with a few results of 100 – 400 KB (originals: at most 70), so that per-byte
 * costs are not understated. Prose is meaningless words from a small vocabulary. One project, one branch, no subagents,
 * no malformed lines, English only.
 */
import { closeSync, openSync, writeSync } from "node:fs"
import type { ChainLine, CorpusOptions } from "./corpus-chain.ts"
import { CorpusSession } from "./corpus-session.ts"

export interface CorpusSize {
  readonly lines: number
  readonly bytes: number
  /** Prompts of a human, which a compaction's summary is not. */
  readonly turns: number
  /** For continuing the session; see `CorpusOptions.after`. */
  readonly lastUuid: string | undefined
}

/** Returns the uuid of the last record it yielded. */
function* limited(options: CorpusOptions): Generator<ChainLine, string | undefined> {
  const session = new CorpusSession(options)
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

/** Streams a transcript to a new file. Uses only a few megabytes of memory, whatever the size. */
export function writeTranscript(path: string, options: CorpusOptions): CorpusSize {
  return write(path, "w", options)
}

/** Continues a transcript at its end; pass `after` and a different seed. */
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
