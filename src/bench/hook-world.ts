/** The environment of the hooks' benchmark: a home, a project, transcripts, and archives made by the binary itself. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { NO_BUN_VARIABLES } from "../config/bun-variables.ts"
import { CtxError } from "../util/errors.ts"
import { dirname, join } from "../util/path.ts"
import { type ArchiveState, archiveState, jobIsIdle, turnsIn } from "./archive-state.ts"
import { type CorpusSize, writeTranscript } from "./corpus.ts"
import { runOnce } from "./measure-processes.ts"

const HOST_VERSION = "2.1.229"
/** Turns per transcript in the archive of many turns. */
const TURNS_EACH = 500

/** A session whose transcript grows while it is measured. */
export interface Tracked {
  readonly session: string
  readonly transcript: string
  size: CorpusSize
}

export class BenchWorld {
  readonly #dir: string
  readonly home: string
  /** The folder that sessions work in. */
  readonly project: string
  /** The binary being measured. */
  exe: string
  /** The current archive. */
  dataHome: string
  #seed = 1

  /** @param dir an empty folder */
  constructor(dir: string, exe: string) {
    this.#dir = dir
    this.exe = exe
    this.home = join(dir, "home")
    this.project = join(dir, "shop")
    this.dataHome = join(dir, "data")
  }

  make(): void {
    mkdirSync(join(this.project, ".git"), { recursive: true })
    writeFileSync(join(this.project, ".git", "HEAD"), "ref: refs/heads/main\n")
    mkdirSync(this.home)
  }

  /** The environment of a hook; contains nothing of the user's. */
  env(): Record<string, string> {
    return {
      HOME: this.home,
      CTXBRIDGE_HOME: this.dataHome,
      PATH: "/usr/bin:/bin",
      TMPDIR: this.#dir,
      ...NO_BUN_VARIABLES,
    }
  }

  tracked(folder: string, session: string, transcriptMB: number): Tracked {
    const transcript = this.transcriptPath(folder, session)
    const size = writeTranscript(transcript, this.corpus(transcriptMB * 1e6, session))
    return { session, transcript, size }
  }

  corpus(bytes: number, session: string) {
    return { seed: this.#seed++, bytes, sessionId: session, cwd: this.project, version: HOST_VERSION }
  }

  transcriptPath(folder: string, session: string): string {
    const path = join(this.home, ".claude", "projects", folder, `${session}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    return path
  }

  /** Makes a data folder whose archive holds this many turns, using the binary itself. */
  async archiveOf(turns: number): Promise<string> {
    const base = join(this.#dir, `base-${turns}`)
    this.dataHome = base
    mkdirSync(base)
    if (turns === 0) return base
    const transcripts: string[] = []
    for (let done = 0; done < turns; done += TURNS_EACH) {
      const session = sessionId(10_000 + done)
      const path = this.transcriptPath(`many-${done % 10}`, session)
      const corpus = this.corpus(Number.POSITIVE_INFINITY, session)
      writeTranscript(path, { ...corpus, style: "talk", turns: Math.min(TURNS_EACH, turns - done) })
      transcripts.push(path)
    }
    await this.archive(transcripts)
    const held = turnsIn(base)
    if (held < turns) throw new CtxError("bench-archive", `the archive holds ${held} of ${turns} turns`)
    for (const path of transcripts) rmSync(path)
    return base
  }

  /** Archives and indexes them completely, with the binary's own `import`. */
  async archive(transcripts: readonly string[]): Promise<void> {
    const behind = transcripts.filter((path) => !isComplete(this.stateOf(path)))
    if (behind.length === 0) return
    const run = await runOnce({
      name: "import",
      argv: [this.exe, "import", ...behind],
      env: this.env(),
      cwd: this.project,
    })
    const left = behind.filter((path) => !isComplete(this.stateOf(path)))
    if (run.exitCode === 0 && left.length === 0) return
    const said = run.stderr.trim() || `${left.length} of ${behind.length} transcripts are not archived`
    throw new CtxError("bench-archive", `could not make the archive: ${said}`)
  }

  stateOf(transcript: string): ArchiveState {
    return archiveState(this.dataHome, this.home, transcript)
  }

  waitForJob(): void {
    const end = performance.now() + 30_000
    while (!jobIsIdle(this.dataHome) && performance.now() < end) Bun.sleepSync(5)
  }

  /**
   * Waits until no background job of ours is running. Checks twice, because a job that has only just started does not
   * hold its lock yet.
   */
  async quiet(): Promise<void> {
    this.waitForJob()
    await Bun.sleep(100)
    this.waitForJob()
  }
}

const isComplete = (state: ArchiveState): boolean =>
  state.size > 0 && state.archived === state.size && state.indexed === state.size

/** A valid UUID for each number. */
export const sessionId = (n: number): string => `0000be4c-0000-4000-a000-${n.toString(16).padStart(12, "0")}`
