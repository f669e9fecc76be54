/** A place of its own for a client to live in: home, project, archive, environment and recorded hook calls. */
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import type { Client } from "./clients.ts"
import { CACHE } from "./from-npm.ts"

/** No key of anyone: the mock does not look at it. */
const KEY = "sk-ant-mock-0000000000000000000000000000000000000000"

export interface World {
  readonly client: Client
  readonly root: string
  readonly home: string
  readonly cwd: string
  /** CTXBRIDGE_HOME. */
  readonly store: string
  /** The copy of the binary that the hooks call; a test may delete it. */
  readonly binary: string
  readonly env: Record<string, string>
  dispose(): void
}

/** One call of one hook, as the client made it. */
export interface HookCall {
  readonly event: string
  /** `source`, `trigger` or `reason`, whichever the event has. */
  readonly detail: string
  /** When it began, in milliseconds of the same clock as `Date.now()`. */
  readonly began: number
  readonly stdin: Record<string, unknown>
  readonly stdout: string
  readonly stderr: string
  readonly code: number
}

export function binaryUnderTest(): string {
  return process.env["CTXBRIDGE_TEST_BIN"] ?? resolve(import.meta.dir, "../../dist/ctxbridge")
}

export function createWorld(client: Client, apiUrl: string): World {
  // The client resolves links before it names a transcript folder after the project; macOS links /tmp.
  const root = realpathSync(mkdtempSync(join(tmpdir(), "ctxbridge-host-")))
  const home = join(root, "home")
  const cwd = join(root, "project")
  const store = join(root, "archive")
  const binary = join(root, "bin", "ctxbridge")
  for (const dir of [join(home, ".claude"), cwd, dirname(binary), join(root, "calls")]) {
    mkdirSync(dir, { recursive: true })
  }
  if (!existsSync(binaryUnderTest())) throw new Error(`${binaryUnderTest()} is missing: npm run build`)
  link(binaryUnderTest(), binary)

  const interpreters = ["node", "sh", "git"].map((name) => Bun.which(name)).filter((path) => path !== null)
  const env = {
    HOME: home,
    PATH: [...new Set([...interpreters.map(dirname), "/usr/bin", "/bin"])].join(":"),
    SHELL: "/bin/sh",
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    TZ: "UTC",
    TMPDIR: join(root, "tmp"),
    ANTHROPIC_API_KEY: KEY,
    ANTHROPIC_BASE_URL: apiUrl,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    // From 2.1 on, default models have windows of different sizes; older versions have 200,000 anyway.
    CLAUDE_CODE_AUTO_COMPACT_WINDOW: "200000",
    // A suggested next prompt would be sent by a stray Enter.
    CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
    // Most of a start of the older clients is compiling their 12 MB. Node before 22.1 takes no notice.
    NODE_COMPILE_CACHE: join(CACHE, "compiled"),
    CTXBRIDGE_HOME: store,
  }
  mkdirSync(env.TMPDIR)

  // Everything a first start would ask.
  const state = {
    hasCompletedOnboarding: true,
    lastOnboardingVersion: client.version,
    theme: "dark",
    numStartups: 9,
    autoUpdates: false,
    customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
    projects: {
      [cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true, allowedTools: [] },
    },
  }
  writeFileSync(join(home, ".claude.json"), JSON.stringify(state))
  const settings = {
    permissions: { allow: ["Bash", "Read", "Write", "Edit", "Task", "Agent"], defaultMode: "acceptEdits" },
  }
  writeFileSync(settingsFile(home), JSON.stringify(settings))

  const dispose = () => {
    endJobs(root)
    rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
  return { client, root, home, cwd, store, binary, env, dispose }
}

interface Places {
  readonly root: string
  readonly home: string
  readonly cwd: string
  readonly store: string
  /** The copy of our binary that the hooks call; a test may delete it. */
  readonly binary: string
  /** Of a clean environment, what every agent gets. */
  readonly env: Record<string, string>
  dispose(): void
}

/** A place of its own for another agent: home, project, archive. @param programs folders that it finds programs in */
export function createPlaces(agent: string, programs: readonly string[]): Places {
  const root = realpathSync(mkdtempSync(join(tmpdir(), `ctxbridge-${agent}-`)))
  const [home, cwd, store] = [join(root, "home"), join(root, "project"), join(root, "archive")]
  const binary = join(root, "bin", "ctxbridge")
  for (const dir of [home, cwd, dirname(binary), join(root, "calls"), join(root, "tmp")])
    mkdirSync(dir, { recursive: true })
  link(binaryUnderTest(), binary)
  const env = {
    HOME: home,
    PATH: [dirname(binary), ...programs, "/usr/bin", "/bin"].join(":"),
    SHELL: "/bin/sh",
    LANG: "C.UTF-8",
    TZ: "UTC",
    TMPDIR: join(root, "tmp"),
    CTXBRIDGE_HOME: store,
  }
  const dispose = (): void => {
    endJobs(root)
    rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
  return { root, home, cwd, store, binary, env, dispose }
}

type Called = Pick<World, "binary" | "cwd" | "env">

/** Registers with an agent as a user would. */
export function installIn(world: Called, agent: string): void {
  const words = ["install", "--agent", agent, "--no-model", "--no-import"]
  const { exitCode, stdout, stderr } = ctxbridge(world, words)
  if (exitCode !== 0) throw new Error(`install failed (${exitCode}): ${stdout}${stderr}`)
}

/** Runs an agent's program to its end. */
export async function toItsEnd(command: string[], { env, cwd }: Pick<World, "env" | "cwd">) {
  const child = Bun.spawn(command, {
    env,
    cwd,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: 90_000,
  })
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code: await child.exited, stdout, stderr }
}

/** Ends the background jobs that hooks have left behind in `root`: they would make their folders anew. */
export function endJobs(root: string): void {
  const { stdout } = Bun.spawnSync(["ps", "-Ao", "pid=,args="])
  for (const line of stdout.toString().split("\n")) {
    if (!line.trimEnd().endsWith(" __job") || !line.includes(`${root}/`)) continue
    try {
      process.kill(Number.parseInt(line, 10), "SIGKILL")
    } catch {
      // it has ended meanwhile
    }
  }
}

function link(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to) // another file system
  }
}

const settingsFile = (home: string) => join(home, ".claude", "settings.json")

export interface HookSettings {
  hooks: Record<string, { matcher?: string; hooks: { type: string; command: string; timeout?: number }[] }[]>
}

export function readSettings(world: World): HookSettings {
  return JSON.parse(readFileSync(settingsFile(world.home), "utf8")) as HookSettings
}

/** Lets `ctxbridge install` write the hooks, as a user would. */
export function installHooks(world: World, also: readonly (readonly string[])[] = []): void {
  for (const args of [["install"], ...also]) {
    const { exitCode, stdout, stderr } = ctxbridge(world, args)
    if (exitCode !== 0) throw new Error(`ctxbridge ${args[0]} failed (${exitCode}): ${stdout}${stderr}`)
  }
  recordHooks(world, settingsFile(world.home))
}

/**
 * Puts a recorder around every hook command. It keeps a pipe as the hook's standard output and waits for its
 * end, as the client does: a background job that held on to the pipe would be seen as a hang.
 */
export function recordHooks({ root }: Pick<World, "root">, file: string): void {
  const recorder = join(root, "record.sh")
  writeFileSync(
    recorder,
    `d=$(mktemp -d '${root}/calls/XXXXXXXX')
cat >"$d/stdin"
{ sh -c "$1" <"$d/stdin" 2>"$d/stderr"; echo $? >"$d/code"; } | tee "$d/stdout"
cat "$d/stderr" >&2
: >"$d/done"
exit "$(cat "$d/code")"
`,
  )
  const settings = JSON.parse(readFileSync(file, "utf8")) as HookSettings
  for (const hook of Object.values(settings.hooks).flatMap((groups) =>
    groups.flatMap((group) => group.hooks),
  )) {
    hook.command = `sh '${recorder}' '${hook.command.replaceAll("'", `'\\''`)}'`
  }
  writeFileSync(file, JSON.stringify(settings, null, 2))
}

/** By folder: they are asked for many times a second. */
const finished = new Map<string, { readonly began: bigint; readonly call: HookCall }>()

/** The finished calls, in the order in which they began. */
export function hookCalls(world: Pick<World, "root">): HookCall[] {
  const calls = join(world.root, "calls")
  return readdirSync(calls)
    .map((name) => finishedCall(join(calls, name)))
    .filter((one) => one !== undefined)
    .sort((a, b) => (a.began < b.began ? -1 : 1))
    .map(({ call }) => call)
}

function finishedCall(dir: string) {
  const known = finished.get(dir)
  if (known !== undefined || !existsSync(join(dir, "done"))) return known
  const text = (name: string) => readFileSync(join(dir, name), "utf8")
  const stdin = JSON.parse(text("stdin")) as Record<string, unknown>
  const began = statSync(join(dir, "stdin"), { bigint: true }).mtimeNs
  const call = {
    event: String(stdin["hook_event_name"]),
    detail: String(stdin["source"] ?? stdin["trigger"] ?? stdin["reason"] ?? ""),
    began: Number(began / 1_000_000n),
    stdin,
    stdout: text("stdout"),
    stderr: text("stderr"),
    code: Number(text("code")),
  }
  finished.set(dir, { began, call })
  return finished.get(dir)
}

/** Calls that began and did not end: the client has killed them, or they hang. */
export function unfinishedCalls(world: World): number {
  const calls = join(world.root, "calls")
  return readdirSync(calls).filter((name) => !existsSync(join(calls, name, "done"))).length
}

export function countCalls(world: World, event: string, detail?: string): number {
  return hookCalls(world).filter((c) => c.event === event && (detail === undefined || c.detail === detail))
    .length
}

/** Runs the binary as a user would, in the world of the client. */
export function ctxbridge(world: Pick<World, "binary" | "cwd" | "env">, args: readonly string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([world.binary, ...args], {
    cwd: world.cwd,
    env: world.env,
    stdin: "ignore",
  })
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() }
}

/** Waits for a condition by asking again; what it waited for and `state()` are told when it never comes. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  { timeout = 60_000, state = () => "" }: { timeout?: number; state?: () => string | Promise<string> } = {},
): Promise<void> {
  const deadline = Date.now() + timeout
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`never saw ${what}\n${await state()}`)
    await Bun.sleep(50)
  }
}
