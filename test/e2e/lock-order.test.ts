/** Everybody takes locks in the order that docs/files.md gives: whoever waits for one has none that comes after it. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { isSuperseded } from "../../src/vault/layout.ts"
import { type Ran, run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { type HookName, Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Taking } from "../support/traced.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const PAGE = readFileSync(join(import.meta.dir, "../../docs/files.md"), "utf8")

/** The first column of the page's table of locks. */
const ORDER = [...PAGE.slice(PAGE.indexOf("## Locks")).matchAll(/^\| +\d+ +\| +(.+?) +\|/gm)].map(
  ([, name]) => name!.replaceAll("`", ""),
)

/** Runs the program from its sources, and keeps which locks it takes. */
class Traced extends Machine {
  readonly notes: string

  constructor() {
    super()
    this.notes = join(this.root, "locks.jsonl")
    this.env["CTXBRIDGE_TEST_LOCKS"] = this.notes
  }

  get #through(): readonly string[] {
    return [process.execPath, join(import.meta.dir, "../support/traced.ts")]
  }

  override hook(event: HookName, transcript: Transcript, fields: Record<string, unknown> = {}): Promise<Ran> {
    return super.hook(event, transcript, fields, { through: this.#through })
  }

  cli(...args: string[]): Promise<Ran> {
    return run(args, { env: this.env, cwd: this.cwd, through: this.#through })
  }

  serve(...requests: readonly object[]): Promise<Ran> {
    const stdin = requests.map((request) => `${JSON.stringify({ jsonrpc: "2.0", ...request })}\n`).join("")
    return run(["mcp"], { env: this.env, cwd: this.cwd, through: this.#through, stdin })
  }

  get takings(): Taking[] {
    const lines = readFileSync(this.notes, "utf8").trim().split("\n")
    return lines.map((line) => JSON.parse(line))
  }

  /** Name of a lock in the page's table. */
  nameOf(file: string): string {
    if (file === this.home) return "the home folder"
    if (file.includes("/spool/")) return "a piece of the spool"
    if (file.endsWith("/vault/copies.jsonl")) return "copies.jsonl"
    return file.includes("/vault/") ? "a copy in the vault" : basename(file)
  }
}

/** Whether the page lets somebody who has one lock wait for the other. */
function isInOrder(machine: Traced, had: string, wanted: string): boolean {
  const [before, after] = [had, wanted].map((file) => ORDER.indexOf(machine.nameOf(file))) as [number, number]
  if (before < 0 || after < 0) throw new Error(`docs/files.md has no lock ${before < 0 ? had : wanted}`)
  return before < after || (before === after && isSuperseded(wanted) && !isSuperseded(had))
}

const well = (ran: Ran): void => expect(ran).toMatchObject({ code: 0, stderr: "" })

// Which locks a process has, only Linux tells (proc(5)).
test.skipIf(process.platform !== "linux")("locks are taken in the order of docs/files.md", async () => {
  using machine = new Traced()
  const session = machine.session()
  const other = machine.session()
  // From its sources it is no program that Claude Code could call.
  well(await run(["install"], { env: machine.env, cwd: machine.cwd }))
  for (const one of [session, other]) well(await machine.hook("session-start", one, { source: "startup" }))
  session.turn("Remember the word xylophone", [], "I will").flush()
  other.turn("Nothing of that here", [], "No").flush()
  well(await machine.hook("user-prompt-submit", session, { prompt: "Remember the word xylophone" }))
  for (const one of [session, other]) well(await machine.hook("stop", one))
  well(await machine.hook("session-end", other, { reason: "other" }))
  await machine.idle()
  // A value that is recognised later is filled in what came before.
  session
    .turn("the password is correcthorsebatterystaple7", [], "export PASSWORD=correcthorsebatterystaple7")
    .flush()
  well(await machine.hook("stop", session))
  well(await machine.hook("session-end", session, { reason: "clear" }))
  await machine.idle()
  // Claude Code rewrites the transcript: the copy is set aside.
  writeFileSync(session.path, "")
  session.turn("Begun anew with the xylophone", [], "Yes").flush()
  well(await machine.hook("stop", session))
  // The vault cannot be written for a while.
  const vault = join(machine.dataHome, "vault")
  const spooled = machine.session().turn("while there is no vault", [], "I see").flush()
  await withoutFolder(vault, () => machine.hook("stop", spooled))
  well(
    await machine.serve(
      {
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: "2025-06-18",
          capabilities: {},
          clientInfo: { name: "test", version: "1" },
        },
      },
      { method: "notifications/initialized" },
      {
        id: 2,
        method: "tools/call",
        params: { name: "remember", arguments: { text: "The xylophone is red" } },
      },
      { id: 3, method: "tools/call", params: { name: "search", arguments: { query: "xylophone" } } },
    ),
  )
  session.turn("What no hook has archived", [], "Indeed").flush()
  well(await machine.cli("import"))
  well(await machine.cli("import", "--check"))
  well(await machine.cli("search", "xylophone"))
  well(await machine.cli("open"))
  well(await machine.cli("optimize", "--frames"))
  well(await machine.cli("rebuild"))
  well(await machine.cli("redact", "--rescan"))
  well(await machine.cli("sync", "--to", join(machine.root, "target")))
  well(await machine.cli("forget", "--match", "xylophone", "--yes"))
  well(await machine.cli("forget", other.session, "--yes"))
  rmSync(join(machine.dataHome, "archive.db"))
  well(await machine.cli("sessions"))
  await machine.hook("session-end", session, { reason: "other" })
  await machine.idle()
  // From its sources, it cannot compare itself with the hooks that are installed.
  expect(await machine.cli("doctor", "--fix")).toMatchObject({ code: 1, stderr: "" })
  await machine.idle()
  well(await machine.cli("uninstall", "--purge", "--yes"))

  const pairs = machine.takings.flatMap(({ file, waits, held }) =>
    held.filter((one) => one !== file).map((one) => ({ had: one, wanted: file, waits })),
  )
  const seen = pairs.map(({ had, wanted }) => `${machine.nameOf(had)} > ${machine.nameOf(wanted)}`)
  // What was run is enough to see a wrong order where several locks are held.
  for (const pair of [
    "the home folder > job.stop",
    "job.stop > job.lock",
    "job.lock > archive.lock",
    "forget.lock > compact.lock",
    "forget.lock > rebuild.lock",
    "compact.lock > notes.lock",
    "compact.lock > sessions.lock",
    "rebuild.lock > gate.lock",
    "archive.lock > pages.lock",
    "archive.lock > a copy in the vault",
    "notes.lock > a copy in the vault",
    "a piece of the spool > a copy in the vault",
    "archive.lock > copies.jsonl",
    "compact.lock > copies.jsonl",
  ])
    expect(seen).toContain(pair)
  const wrong = pairs
    .filter(({ had, wanted, waits }) => waits && !isInOrder(machine, had, wanted))
    .map(({ had, wanted }) => `${machine.nameOf(had)} > ${machine.nameOf(wanted)}`)
  expect([...new Set(wrong)]).toEqual([])
})

test.skipIf(process.platform !== "linux")(
  "a command opens the archive once, whatever it tells of it",
  async () => {
    using machine = new Traced()
    const session = machine.session().turn("Remember the word xylophone", [], "I will").flush()
    well(await machine.hook("session-start", session, { source: "startup" }))
    await machine.idle()
    session.turn("What no hook has archived", [], "Indeed").flush()
    const opened = async (...args: string[]): Promise<number> => {
      rmSync(machine.notes, { force: true })
      well(await machine.cli(...args))
      return machine.takings.filter(({ file }) => basename(file) === "archive.lock").length
    }
    expect(await opened("status")).toBe(1)
    expect(await opened("status", "--verbose")).toBe(1)
    expect(await opened("search", "xylophone")).toBe(1)
    expect(await opened("sessions")).toBe(1)
  },
)

test.skipIf(process.platform !== "linux")("one open at a time writes the pages of a folder", async () => {
  using machine = new Traced()
  machine.session().turn("Remember the word xylophone", [], "I will").flush()
  well(await machine.cli("import"))
  await machine.idle()
  const pages = join(machine.dataHome, "pages")
  const isWaiting = (): boolean =>
    machine.takings.some(({ file, waits }) => basename(file) === "pages.lock" && waits)
  const second = await holding(machine.dataHome, "pages.lock", async () => {
    const ran = machine.cli("open")
    await until(isWaiting, 30_000, "the second open to wait for the first")
    expect(existsSync(pages)).toBe(false)
    return { ran }
  })
  well(await second.ran)
  expect(existsSync(join(pages, "search"))).toBe(true)
  // In a folder of the user's it leaves no file for that.
  well(await machine.cli("open", "-o", "site"))
  expect(machine.takings.map(({ file }) => file)).toContain(join(machine.cwd, "site"))
  expect(readdirSync(join(machine.cwd, "site")).filter((name) => name.includes("lock"))).toEqual([])
})

/** Runs `work` while a file is in the place of a folder. */
async function withoutFolder(folder: string, work: () => Promise<unknown>): Promise<void> {
  renameSync(folder, `${folder}.away`)
  writeFileSync(folder, "")
  try {
    await work()
  } finally {
    rmSync(folder)
    renameSync(`${folder}.away`, folder)
  }
}
