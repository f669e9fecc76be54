/** A separate machine for hooks: home, project, archive, and transcripts like Claude Code's. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { processesIn } from "../../src/base/processes.ts"
import { type HookName, hookPayload } from "../../src/claude/fake/transcript.ts"
import { vaultFile, vaultPath } from "../../src/vault/layout.ts"
import { CopyReader } from "../../src/vault/reader.ts"
import type { Database } from "../../src/views/database.ts"
import { openCurrent } from "../../src/views/open-current.ts"
import { type Ran, type RunOptions, run } from "./binary.ts"
import { HOOK_ENV, limit } from "./slowness.ts"
import { Transcript } from "./transcript.ts"

export type { HookName } from "../../src/claude/fake/transcript.ts"

export class Machine {
  readonly root: string
  readonly home: string
  readonly cwd: string
  readonly dataHome: string
  readonly env: Record<string, string>
  #sessions = 0

  /** @param above the folder in which it is made */
  constructor(above = tmpdir()) {
    this.root = realpathSync(mkdtempSync(join(above, "ctxbridge-e2e-")))
    this.home = join(this.root, "home")
    this.cwd = join(this.root, "project")
    this.dataHome = join(this.root, "archive")
    for (const dir of [this.home, this.cwd]) mkdirSync(dir)
    // Whatever cannot be archived is spooled to the folder for temporary files.
    this.env = { HOME: this.home, CTXBRIDGE_HOME: this.dataHome, TMPDIR: this.root, ...HOOK_ENV }
  }

  /** A new session's transcript, with nothing written yet. */
  session(options: { version?: string; id?: string; cwd?: string; start?: number } = {}): Transcript {
    const n = String(++this.#sessions).padStart(12, "0")
    const { version = "2.1.112", id = `5e551011-0000-4000-8000-${n}`, cwd = this.cwd, start } = options
    const path = this.path(`${id}.jsonl`)
    return new Transcript({ session: id, cwd, version, path, ...(start === undefined ? {} : { start }) })
  }

  /** A path in the folder where Claude Code keeps this project's transcripts. */
  path(name: string): string {
    return join(this.home, ".claude", "projects", this.cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), name)
  }

  payload(event: HookName, transcript: Transcript, fields: Record<string, unknown> = {}): string {
    const { session, path, options } = transcript
    return hookPayload(event, { session, transcript: path, cwd: options.cwd }, fields)
  }

  /** One call of one hook. */
  async hook(
    event: HookName,
    transcript: Transcript,
    fields: Record<string, unknown> = {},
    options: RunOptions = {},
  ): Promise<Ran> {
    return run(["hook", event], {
      cwd: this.cwd,
      stdin: this.payload(event, transcript, fields),
      ...options,
      env: { ...this.env, ...options.env },
    })
  }

  /** The views, including everything that hooks have archived. */
  views(): Database & { [Symbol.dispose](): void } {
    return openCurrent(this.dataHome, "command") as Database & { [Symbol.dispose](): void }
  }

  /** Path of the transcript's copy in the vault. */
  copy(path: string): string {
    return vaultFile(this.dataHome, vaultPath(path, this.home))
  }

  /** Ids of processes working on this machine. */
  processes(): number[] {
    return processesIn(this.root)
  }

  /** Waits until no background job is running. */
  async idle(ms = 60_000): Promise<void> {
    await until(() => this.processes().length === 0, ms, "the background job to end")
  }

  /** Kills what is still running, by its id, and removes everything. */
  [Symbol.dispose](): void {
    for (let attempt = 0; attempt < 20; attempt++) {
      for (const pid of this.processes()) {
        try {
          process.kill(pid, "SIGKILL")
        } catch {
          // It has ended by itself.
        }
      }
      try {
        rmSync(this.root, { recursive: true, force: true })
        return
      } catch {
        // A process wrote while we were removing.
        Bun.sleepSync(50)
      }
    }
  }
}

/** Polls until `holds` is true, for `ms` where nothing is emulated. A sleep alone is never the criterion. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  ms: number,
  what: string,
): Promise<void> {
  const allowed = limit(ms)
  const end = performance.now() + allowed
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited ${allowed} ms for ${what}`)
    await Bun.sleep(25)
  }
}

/** Runs `work` for all items, at most `width` at a time. */
export async function pooled<T>(
  items: readonly T[],
  width: number,
  work: (item: T, n: number) => Promise<void>,
) {
  let next = 0
  const worker = async (): Promise<void> => {
    for (let n = next++; n < items.length; n = next++) await work(items[n]!, n)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

const zstd = Bun.which("zstd")

/** A copy's content, read by our own reader and, if installed, compared with the output of zstd. */
export function contentOf(copy: string): Buffer {
  const reader = new CopyReader(copy)
  try {
    const ours = Buffer.concat([...reader.pieces()])
    if (zstd === null) return ours
    const result = Bun.spawnSync([zstd, "-dcq", copy])
    if (result.exitCode !== 0) throw new Error(`zstd: ${result.stderr.toString()}`)
    if (Buffer.compare(ours, result.stdout) !== 0) throw new Error(`zstd and we read ${copy} differently`)
    return ours
  } finally {
    reader.close()
  }
}

/** The humans' prompts, in order. */
export function promptsIn(db: Database, session: string): string[] {
  return db
    .query<{ prompt: string }, [string]>(
      "SELECT prompt FROM turns WHERE session = ? AND via NOT IN ('none', 'brief') ORDER BY seq",
    )
    .all(session)
    .map(({ prompt }) => prompt)
}

/** What a hook gave the model; undefined if it printed nothing. Throws if it printed anything else. */
export function contextOf({ stdout }: Ran): string | undefined {
  if (stdout === "") return undefined
  const { hookSpecificOutput } = JSON.parse(stdout) as {
    hookSpecificOutput: { hookEventName: string; additionalContext: string }
  }
  return hookSpecificOutput.additionalContext
}
