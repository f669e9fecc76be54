/** What a test run leaves behind, however it ends: nothing. The runs are real; their one test starts things and waits. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { processesIn } from "../src/base/processes.ts"
import { until } from "./support/machine.ts"
import { tempFolder } from "./support/temp.ts"
import { hasTmux } from "./support/tmux.ts"

setDefaultTimeout(60_000)

const ROOT = join(import.meta.dir, "..")

/** As hooks and clients of tests are: in an environment that names the machine, and some in sessions of their own. */
const STARTS = `import { expect, test } from "bun:test"
import { existsSync, renameSync, writeFileSync } from "node:fs"
import { Machine } from "${ROOT}/test/support/machine.ts"
import { Tmux } from "${ROOT}/test/support/tmux.ts"

test("starts things, and waits", async () => {
  const machine = new Machine()
  const env = { PATH: "/usr/bin:/bin", ...machine.env }
  const children = [
    Bun.spawn(["sleep", "600"], { env }),
    Bun.spawn(["sh", "-c", "trap '' INT TERM HUP; while :; do sleep 600; done"], { env, detached: true }),
    Bun.spawn(["sleep", "600"], { env: { PATH: env.PATH }, cwd: machine.cwd, detached: true }),
  ]
  for (const child of children) child.unref()
  const pids = children.map(({ pid }) => pid)
  if (${hasTmux}) pids.push(Number(new Tmux(machine, "sleep 600", { columns: 80, rows: 24 }).ask("#{pid}")))
  writeFileSync("starting", pids.join(" "))
  renameSync("starting", "ready")
  while (!existsSync("over")) await Bun.sleep(20)
  expect(existsSync("fails")).toBe(false)
}, 60_000)
`

/** A checkout with that test and our set-up of tests; `tmp` in it is for temporary files. */
function checkout(root: string): void {
  for (const name of ["test", "tmp"]) mkdirSync(join(root, name))
  writeFileSync(join(root, "bunfig.toml"), `[test]\npreload = ["${ROOT}/test/preload.ts"]\n`)
  writeFileSync(join(root, "test/starts.test.ts"), STARTS)
  // One file alone has no process of its own.
  writeFileSync(
    join(root, "test/other.test.ts"),
    `import { test } from "bun:test"\ntest("passes", () => {})\n`,
  )
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"))
}

/** A run that has started everything, and the ids of that. */
async function begun(root: string, options: readonly string[]) {
  checkout(root)
  const run = Bun.spawn([process.execPath, "test", ...options], {
    cwd: root,
    // What it starts is found by this.
    env: { PATH: "/usr/bin:/bin", HOME: root, TMPDIR: join(root, "tmp") },
    stdout: "ignore",
    stderr: "ignore",
    detached: true,
  })
  await until(() => readdirSync(root).includes("ready"), 20_000, "the test to start things")
  const pids = readFileSync(join(root, "ready"), "utf8").split(" ").map(Number)
  expect(pids.filter(isThere)).toEqual(pids)
  return { run, pids }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Waits until neither what it had started is left of a run, nor whatever names its folder, nor its files. */
async function nothingLeft(root: string, pids: readonly number[]): Promise<void> {
  const left = () => [...pids.filter(isThere), ...processesIn(root), ...readdirSync(join(root, "tmp"))]
  await until(() => left().length === 0, 20_000, "nothing to be left")
}

const RUNS = [[], ["--parallel=2"]] as const
const SIGNALS = ["SIGINT", "SIGTERM", "SIGKILL"] as const

test.each(RUNS.flatMap((options) => SIGNALS.map((signal) => [signal, options] as const)))(
  "%s ends a run, and all it has started: bun test %p",
  async (signal, options) => {
    using folder = tempFolder()
    const { run, pids } = await begun(folder.path, options)
    run.kill(signal)
    await run.exited
    await nothingLeft(folder.path, pids)
  },
)

test.each([
  [0, []],
  [1, ["fails"]],
] as const)("so does its own end, with exit code %i", async (code, names) => {
  using folder = tempFolder()
  const { run, pids } = await begun(folder.path, [])
  for (const name of [...names, "over"]) writeFileSync(join(folder.path, name), "")
  expect(await run.exited).toBe(code)
  await nothingLeft(folder.path, pids)
})

test("programs get the system's folders, whatever PATH the run has", async () => {
  using folder = tempFolder()
  const named = ["/usr/bin", "/bin"]
  mkdirSync(join(folder.path, "tmp"))
  writeFileSync(join(folder.path, "bunfig.toml"), `[test]\npreload = ["${ROOT}/test/preload.ts"]\n`)
  writeFileSync(
    join(folder.path, "path.test.ts"),
    `import { test } from "bun:test"\ntest("tells", () => Bun.write("path", process.env["PATH"] ?? ""))\n`,
  )
  const env = { PATH: named.join(":"), HOME: folder.path, TMPDIR: join(folder.path, "tmp") }
  const run = Bun.spawn([process.execPath, "test"], {
    cwd: folder.path,
    env,
    stdout: "ignore",
    stderr: "ignore",
  })
  expect(await run.exited).toBe(0)
  const told = readFileSync(join(folder.path, "path"), "utf8").split(":")
  // What the caller has put first stays first.
  expect(told.slice(0, 2)).toEqual(named)
  expect(told).toContain("/usr/sbin")
})
