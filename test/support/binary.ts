/** Runs the compiled binary as Claude Code does. */
import { existsSync } from "node:fs"
import { resolve } from "node:path"

/** The file under test: CTXBRIDGE_TEST_BIN, or else the output of `npm run build`. */
export function binary(): string {
  const file = process.env["CTXBRIDGE_TEST_BIN"] ?? resolve(import.meta.dir, "../../dist/ctxbridge")
  if (!existsSync(file)) throw new Error(`${file} is missing: npm run build`)
  return file
}

export interface RunOptions {
  readonly stdin?: string | Uint8Array
  /** The whole environment of the process; only PATH is inherited. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Words before the command, for running it through another program. */
  readonly through?: readonly string[]
}

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** From start to exit, as measured by the parent. */
  readonly ms: number
}

export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { stdin = "", through = [] } = options
  const bytes = typeof stdin === "string" ? Buffer.from(stdin) : stdin
  const started = performance.now()
  return finished(Bun.spawn([...through, binary(), ...args], { ...settings(options), stdin: bytes }), started)
}

/** Runs a script of the repository, such as `bench/recall.ts`, as a developer does. */
export async function runScript(
  script: string,
  args: readonly string[],
  options: Omit<RunOptions, "stdin" | "through"> = {},
): Promise<Ran> {
  const started = performance.now()
  const file = resolve(import.meta.dir, "../..", script)
  return finished(Bun.spawn([process.execPath, file, ...args], settings(options)), started)
}

/** Starts a process whose stdin the caller writes, late or never. */
export function start(args: readonly string[], options: Omit<RunOptions, "stdin" | "through"> = {}) {
  const started = performance.now()
  const child = Bun.spawn([binary(), ...args], { ...settings(options), stdin: "pipe" })
  return { child, ended: finished(child, started) }
}

function settings({ env = {}, cwd }: RunOptions) {
  return {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdout: "pipe" as const,
    stderr: "pipe" as const,
    ...(cwd === undefined ? {} : { cwd }),
  }
}

interface Child {
  readonly stdout: ReadableStream<Uint8Array>
  readonly stderr: ReadableStream<Uint8Array>
  readonly exited: Promise<number>
}

async function finished(child: Child, started: number): Promise<Ran> {
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr, ms: performance.now() - started }
}
