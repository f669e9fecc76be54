/** A separate environment for one case: plays Claude Code with the compiled binary, and keeps track of what it says. */

import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { isMissing } from "../../../base/errors.ts"
import { tryTo } from "../../../base/files.ts"
import { dirname, join } from "../../../base/path.ts"
import { killAll, processesIn } from "../../../base/processes.ts"
import { contextIn, FakeTranscript, type HookName, hookPayload } from "../../../claude/fake/transcript.ts"
import { HOOKS } from "../../../claude/hooks.ts"
import { isolatedEnvironment } from "../../../config/load.ts"
import { endOfLines } from "../../../record/lines-with.ts"
import type { Dice } from "../seeded-random.ts"

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface CallOptions {
  readonly fields?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string | undefined>>
  /** ms after which the process is killed. */
  readonly killAfter?: number
  /** Words before the binary, for instance a shell that sets limits. */
  readonly through?: readonly string[]
}

/** Fields that make an event do as much as it can. */
const FIELDS: Partial<Record<HookName, Readonly<Record<string, unknown>>>> = {
  "session-start": { source: "compact" },
  "user-prompt-submit": { prompt: "go on" },
  "pre-compact": { trigger: "auto" },
  "session-end": { reason: "other" },
}

/** Events that print nothing. */
const SILENT: readonly HookName[] = ["stop", "subagent-stop", "session-end"]
const KILLED = 137
/** Runs of the background job after which its requests must be done. */
const JOBS = 20

export class World {
  readonly root: string
  readonly home: string
  readonly cwd: string
  /** The folder that contains the data folder; a case may mount something here. */
  readonly disk: string
  readonly dataHome: string
  readonly temporary: string
  readonly sessions: GrowingSession[] = []
  /** What went wrong so far. */
  readonly problems: string[] = []
  falseMessages = 0
  badExits = 0
  runs = 0
  killed = 0
  readonly #kept: Disposable[] = []
  readonly #exe: string
  readonly #env: Record<string, string | undefined>

  /** @param root an empty folder */
  constructor(exe: string, root: string) {
    this.#exe = exe
    this.root = root
    this.home = join(root, "home")
    this.cwd = join(root, "project")
    this.disk = join(root, "disk")
    this.dataHome = join(this.disk, "ctxbridge")
    this.temporary = join(root, "tmp")
    for (const folder of [this.home, this.cwd, this.disk, this.temporary]) mkdirSync(folder)
    this.#env = {
      ...isolatedEnvironment(this.home),
      CTXBRIDGE_HOME: "",
      XDG_DATA_HOME: this.disk,
      XDG_STATE_HOME: join(root, "state"),
      TMPDIR: this.temporary,
    }
  }

  /** A new session; nothing is written yet. */
  session(): GrowingSession {
    const id = `70c70c70-0000-4000-8000-${String(this.sessions.length + 1).padStart(12, "0")}`
    const path = join(this.home, ".claude", "projects", "-project", `${id}.jsonl`)
    const session = new GrowingSession(id, path, this.cwd)
    this.sessions.push(session)
    return session
  }

  /** Calls a hook. What was in the transcript when it began must be archived if it succeeds. */
  async hook(event: HookName, session: GrowingSession, options: CallOptions = {}): Promise<Ended> {
    const { generation } = session
    const lines = linesOf(session.content())
    const of = { session: session.id, transcript: session.path, cwd: session.cwd }
    const payload = hookPayload(event, of, { ...FIELDS[event], ...options.fields })
    const ended = await this.#call(["hook", event], payload, options)
    if (this.#wasKilled(ended, options)) return ended
    if (ended.code !== 0 || ended.stderr !== "") this.#bad(`hook ${event}`, ended)
    else if (session.generation === generation) for (const line of lines) session.told.add(line)
    this.#checkClaims(event, session, ended.stdout)
    return ended
  }

  anyEvent = (dice: Dice): HookName => dice.pick(Object.values(HOOKS))

  /** Runs a command. `allowed`: the exit codes that are correct. */
  async command(args: readonly string[], allowed: readonly number[] = [0]): Promise<Ended> {
    const ended = await this.#call(args, "", {})
    if (!allowed.includes(ended.code)) this.#bad(args.join(" "), ended)
    if (/\binternal\b|defect of ctxbridge/.test(ended.stdout + ended.stderr)) {
      this.isFalse(`${args.join(" ")}: ${ended.stderr}`)
    }
    return ended
  }

  /** The JSON output of a command, or the last event if it reports its progress in events. */
  async asked<T>(args: readonly string[], allowed?: readonly number[]): Promise<T> {
    const { stdout } = await this.command([...args, "--json"], allowed)
    const text = args[0] === "import" ? (stdout.trimEnd().split("\n").at(-1) ?? "") : stdout
    try {
      return JSON.parse(text) as T
    } catch {
      this.isFalse(`${args.join(" ")} --json printed no JSON`)
      return {} as T
    }
  }

  /** Runs the background job in the foreground. */
  async job(options: CallOptions = {}): Promise<void> {
    const ended = await this.#call(["__job"], "", options)
    if (!this.#wasKilled(ended, options) && ended.code !== 0) this.#bad("__job", ended)
  }

  /** Sets a variable for all later processes. */
  set(name: string, value: string | undefined): void {
    this.#env[name] = value
  }

  /**
   * Keeps what must be undone at the end.
   *
   * @returns whether there is anything to undo
   */
  keep(disposable: Disposable | undefined): boolean {
    if (disposable !== undefined) this.#kept.push(disposable)
    return disposable !== undefined
  }

  isFalse(what: string): void {
    this.falseMessages++
    this.problems.push(what)
  }

  /** Kills all processes that work here, including hooks' jobs. */
  killEverything(): void {
    const pids = processesIn(this.root)
    killAll(pids)
    this.killed += pids.length
  }

  /**
   * Does what a user does next, whatever happened: hooks, the job, a command. Returns when nothing is running here any
   * more.
   */
  async recover(): Promise<void> {
    for (const session of this.sessions) await this.hook("stop", session)
    // As if an hour had passed: then the start of a session searches the project's folder.
    rmSync(join(this.root, "state", "ctxbridge", "swept"), { recursive: true, force: true })
    const [first] = this.sessions
    if (first !== undefined) await this.hook("session-start", first, { fields: { source: "startup" } })
    for (let n = 0; n < JOBS && (this.#waiting() || processesIn(this.root).length > 0); n++) {
      await this.job()
      while (processesIn(this.root).length > 0) await Bun.sleep(20)
    }
    if (this.sessions.some(({ told }) => told.size > 0)) await this.command(["sessions", "--all-projects"])
    while (processesIn(this.root).length > 0) await Bun.sleep(20)
  }

  remove(): void {
    killAll(processesIn(this.root))
    for (const one of this.#kept) one[Symbol.dispose]()
    rmSync(this.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }

  /** Whether the job has requests, or copies are not in the views yet. */
  #waiting(): boolean {
    return ["requests", "pending"].some(
      (name) => (tryTo(() => readdirSync(join(this.dataHome, name))) ?? []).length > 0,
    )
  }

  async #call(args: readonly string[], stdin: string, options: CallOptions): Promise<Ended> {
    this.runs++
    const child = Bun.spawn([...(options.through ?? []), this.#exe, ...args], {
      cwd: this.cwd,
      env: { ...this.#env, ...options.env },
      stdin: new TextEncoder().encode(stdin),
      stdout: "pipe",
      stderr: "pipe",
    })
    const timer = setTimeout(() => child.kill("SIGKILL"), options.killAfter ?? 120_000)
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    clearTimeout(timer)
    return { code, stdout, stderr }
  }

  #wasKilled({ code }: Ended, { killAfter }: CallOptions): boolean {
    if (killAfter === undefined || code !== KILLED) return false
    this.killed++
    return true
  }

  #bad(what: string, { code, stderr }: Ended): void {
    this.badExits++
    this.problems.push(`${what}: exit ${code}${stderr === "" ? "" : `, ${stderr.trim()}`}`)
  }

  /** Compares what a hook says about the archive with the archive. */
  #checkClaims(event: HookName, session: GrowingSession, stdout: string): void {
    if (stdout === "") return
    if (SILENT.includes(event)) this.isFalse(`${event} printed ${JSON.stringify(stdout)}`)
    else if (event !== "pre-compact" && contextIn(stdout) === undefined)
      this.isFalse(`${event} printed no valid reply`)
    const claimed = Number(/\b(\d+) turns? (?:of this session|archived byte for byte)/.exec(stdout)?.[1] ?? 0)
    const held = promptsAmong(allLines(archivedLines(this.dataHome, session.id))).length
    if (claimed > held) this.isFalse(`${event} said that ${claimed} turns are archived; there are ${held}`)
  }
}

/* A session as Claude Code writes it, with small turns in which every line and prompt is unique. */

export class GrowingSession {
  readonly id: string
  readonly path: string
  readonly cwd: string
  /** Lines that were in the transcript when a hook began that then succeeded. */
  readonly told = new Set<string>()
  /** How often the transcript was changed other than by appending. */
  generation = 0
  #turns = 0
  readonly #written: FakeTranscript

  constructor(id: string, path: string, cwd: string) {
    this.id = id
    this.path = path
    this.cwd = cwd
    this.#written = new FakeTranscript({ session: id, cwd, version: "2.1.229" })
  }

  /** Appends turns, each a prompt, a tool call and an answer. */
  grow(turns: number): this {
    mkdirSync(dirname(this.path), { recursive: true })
    appendFileSync(this.path, this.text(turns))
    return this
  }

  /** What `grow` would append. */
  text(turns: number): string {
    for (let n = 0; n < turns; n++) {
      const input = { file_path: `${this.cwd}/file-${++this.#turns}.ts`, old_string: "a", new_string: "b" }
      const edit = { tool: "Edit", input, output: `done ${"x".repeat(200)}` }
      this.#written.turn(`prompt ${this.#turns} of ${this.id} 語`, [edit])
    }
    return this.#written.take()
  }

  /** The transcript's whole lines; empty when there is no such file. */
  content(): Buffer {
    try {
      const bytes = readFileSync(this.path)
      return bytes.subarray(0, endOfLines(bytes))
    } catch (error) {
      if (isMissing(error)) return Buffer.alloc(0)
      throw error
    }
  }
}

/** Splits content that consists of whole lines. */
export const linesOf = (content: Uint8Array): string[] =>
  Buffer.from(content.buffer, content.byteOffset, content.length).toString("utf8").split("\n").slice(0, -1)

/** The prompts in these lines. A line that was cut and then continued may end with a whole record. */
export function promptsAmong(lines: Iterable<string>): string[] {
  const prompts: string[] = []
  for (const line of lines) {
    // Without our decoder, which is what is examined.
    for (const piece of line.split(/(?<=\})(?=\{)/)) {
      const found = /"content":"(prompt \d+ of [\w-]+ 語)"/.exec(lastRecordIn(piece))?.[1]
      if (found !== undefined) prompts.push(found)
    }
  }
  return prompts
}

/** `""` if nothing that begins in the text is a whole record at its end. */
function lastRecordIn(text: string): string {
  for (let at = text.indexOf('{"'); at >= 0; at = text.indexOf('{"', at + 1)) {
    const rest = text.slice(at)
    if (tryTo(() => JSON.parse(rest)) !== undefined) return rest
  }
  return ""
}

/* What the vault and the spool hold, read as anyone could: whole files, decompressed, without our own reader. */

/** Copies of one transcript: its current content, and what it was before Claude Code rewrote it. */
export interface ArchivedCopies {
  readonly current: Uint8Array
  readonly former: readonly Uint8Array[]
}

/** @param folder a data folder or a folder of the spool */
export function archivedLines(folder: string, session: string): ArchivedCopies {
  let current: Uint8Array = new Uint8Array(0)
  const former: Uint8Array[] = []
  for (const file of filesBelow(join(folder, "vault"))) {
    const name = file.slice(file.lastIndexOf("/") + 1)
    if (name === `${session}.jsonl.zst`) current = decompressed(file)
    else if (name.startsWith(`${session}.~`) && name.endsWith(".zst")) former.push(decompressed(file))
  }
  return { current, former }
}

/** Every line in any copy. */
export function allLines({ current, former }: ArchivedCopies): Set<string> {
  return new Set([...former, current].flatMap(linesOf))
}

/** Empty when there is no frame yet, or only part of one. */
const decompressed = (file: string): Uint8Array =>
  tryTo(() => Bun.zstdDecompressSync(readFileSync(file))) ?? new Uint8Array(0)

const filesBelow = (folder: string): string[] =>
  tryTo(() => (readdirSync(folder, { recursive: true }) as string[]).map((name) => join(folder, name))) ?? []
