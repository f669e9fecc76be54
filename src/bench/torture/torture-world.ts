/** A separate environment for one case: plays the host with the compiled binary, and keeps track of what it says. */
import { mkdirSync, readdirSync, rmSync } from "node:fs"
import { contextIn, type HookName, hookPayload } from "../../claude/fake/payload.ts"
import { isolatedEnvironment } from "../../config/load.ts"
import { EVENTS } from "../../transcript/hook-event.ts"
import { tryTo } from "../../util/files.ts"
import { join } from "../../util/path.ts"
import { killAll, processesIn } from "../../util/processes.ts"
import type { Dice } from "../seeded-random.ts"
import { allLines, archivedLines } from "./archived-lines.ts"
import { GrowingSession, linesOf, promptsAmong } from "./growing-session.ts"

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

  anyEvent = (dice: Dice): HookName => dice.pick(EVENTS)

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
