import { describe, expect, test } from "bun:test"
import { appendFileSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { CtxError, usageError } from "../../../src/base/errors.ts"
import { hashName } from "../../../src/base/json-files.ts"
import { sessionIdOf } from "../../../src/base/session-id.ts"
import { runTable, type TableStep } from "../../../src/base/step-table.ts"
import {
  isSyncDue,
  noteAutoSync,
  POLL,
  pauseAfter,
  pauseAfterFailure,
  readAutoSync,
  type SyncLoop,
  stoppedWatching,
  syncAgain,
} from "../../../src/sync/sync-again.ts"
import { ENTRY_STEPS } from "../../../src/sync/sync-archive.ts"
import { Ledger, type SentTurn } from "../../../src/sync/sync-ledger.ts"
import { SYNC_STEPS } from "../../../src/sync/sync-once.ts"
import { isPieceAbout, isPlainlyNamed } from "../../../src/sync/targets/pieces.ts"
import { type BackendName, chooseTargets } from "../../../src/sync/targets.ts"
import { vaultPath } from "../../../src/vault/layout.ts"
import type { Tombstone } from "../../../src/vault/tombstone.ts"
import { tempFolder } from "../../support/temp.ts"
import { piece } from "./contract.ts"

/** A sync is a table of steps: who runs them, and that the page about sync tells them as they are. */
describe("sync steps", () => {
  interface Walk {
    readonly wanted: { readonly all: boolean; readonly pull: boolean }
    readonly seen: string[]
  }

  type Step = TableStep<Walk, keyof Walk["wanted"]>

  const step = (name: string, more: Partial<Step> = {}): Step => ({
    name,
    run: ({ seen }) => void seen.push(name),
    ...more,
  })

  test("steps run in their order, as far as they are wanted and due, until one fails", async () => {
    const walk: Walk = { wanted: { all: true, pull: false }, seen: [] }
    const steps = [
      step("open"),
      step("fetch", { needs: "pull" }),
      step("mend", { needs: "all" }),
      step("late", {
        run: async ({ seen }) => {
          await new Promise(setImmediate)
          seen.push("late")
        },
      }),
      step("forget", { due: ({ seen }) => seen.includes("fetch") }),
      step("send", { due: ({ seen }) => seen.at(-1) === "late" }),
    ]
    await runTable(steps, walk, (need) => walk.wanted[need])
    expect(walk.seen).toEqual(["open", "mend", "late", "send"])
    const failing = step("fail", {
      run() {
        throw new Error("closed")
      },
    })
    await expect(runTable([failing, step("after")], walk, () => true)).rejects.toThrow("closed")
    expect(walk.seen).not.toContain("after")
  })

  test("the page about sync has a line for each step, in the order in which they run", () => {
    const page = readFileSync(join(import.meta.dir, "../../../docs/architecture/sync.md"), "utf8")
    const told = [...page.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name)
    expect(told).toEqual([...SYNC_STEPS, ...ENTRY_STEPS].map(({ name }) => name))
  })
})

describe("sync again", () => {
  /** A world whose time passes while it sleeps. */
  function played(sync: (n: number) => void, changes: (now: number) => string, until: number) {
    const log: string[] = []
    let now = 0
    let syncs = 0
    const world: SyncLoop = {
      async sync() {
        log.push(`${now} sync`)
        sync(++syncs)
      },
      signature: () => changes(now),
      isOver: () => now >= until,
      async sleep(ms) {
        now += ms
      },
      onFailure: (_, pause) => log.push(`${now} failed, ${pause}`),
      now: () => now,
    }
    return { log, end: syncAgain(world) }
  }

  const fails = (code: string): never => {
    throw new CtxError(code, "it is not there")
  }

  test("at once, when something has changed, and once a minute", async () => {
    const { log, end } = played(
      () => {},
      (now) => String(now >= 4000),
      70_000,
    )
    await end
    expect(log).toEqual(["0 sync", `${2 * POLL} sync`, `${22 * POLL} sync`])
  })

  test("a target that fails is waited for, with growing pauses, and then polled again", async () => {
    const { log, end } = played(
      (n) => (n <= 3 ? fails("target-refused") : undefined),
      () => "",
      40_000,
    )
    await end
    expect(log).toEqual([
      ...["0 sync", "0 failed, 5000", "5000 sync", "5000 failed, 10000", "15000 sync", "15000 failed, 20000"],
      "35000 sync",
    ])
    expect([0, 1, 5, 6, 100].map(pauseAfterFailure)).toEqual([5000, 10_000, 160_000, 300_000, 300_000])
  })

  test("what no waiting mends ends it, and being stopped is no failure", async () => {
    for (const error of [
      new CtxError("target-locked", "wrong passphrase"),
      usageError("no"),
      new TypeError("bug"),
    ]) {
      const { log, end } = played(
        () => {
          throw error
        },
        () => "",
        99_000,
      )
      await expect(end).rejects.toBe(error)
      expect(log).toEqual(["0 sync"])
    }
    const gone = Object.assign(new Error("unplugged"), { code: "EIO" })
    const unplugged = played(
      () => {
        throw gone
      },
      () => "",
      5000,
    )
    await unplugged.end
    expect(unplugged.log).toEqual(["0 sync", "0 failed, 5000"])
    const stopped = played(
      () => {
        throw stoppedWatching()
      },
      () => "",
      99_000,
    )
    await stopped.end
    expect(stopped.log).toEqual(["0 sync"])
  })
})

describe("auto sync", () => {
  const MINUTE = 60_000

  test("at most every five minutes, ever more seldom while it fails, at least once an hour", () => {
    expect([0, 1, 2, 3, 4, 50].map((failures) => pauseAfter(failures) / MINUTE)).toEqual([
      5, 10, 20, 40, 60, 60,
    ])
    const tried = 1_000_000_000
    const ok = { tried, failures: 0, failure: null }
    expect(isSyncDue(ok, tried + 5 * MINUTE - 1)).toBe(false)
    expect(isSyncDue(ok, tried + 5 * MINUTE)).toBe(true)
    expect(isSyncDue({ ...ok, failures: 2 }, tried + 19 * MINUTE)).toBe(false)
    expect(isSyncDue({ ...ok, failures: 2 }, tried + 20 * MINUTE)).toBe(true)
    // The clock was set back.
    expect(isSyncDue(ok, tried - 1)).toBe(true)
  })

  test("what went wrong is kept until it goes well; nothing, or half a file, is no failure", async () => {
    using folder = tempFolder()
    const nothing = { tried: 0, failures: 0, failure: null }
    expect(readAutoSync(folder.path)).toEqual(nothing)
    const failure = {
      target: "/x",
      code: "target-missing",
      message: "no such folder",
      hint: null,
      since: "2026-01-01",
    }
    noteAutoSync(folder.path, { tried: 5, failures: 1, failure })
    expect(readAutoSync(folder.path)).toEqual({ tried: 5, failures: 1, failure })
    await Bun.write(`${folder.path}/sync/auto.json`, '{"tried":')
    expect(readAutoSync(folder.path)).toEqual(nothing)
  })
})

/** What was sent is read only as far as the next sync needs it. */
describe("ledger", () => {
  const sent = (session: string, n: number, more: Partial<SentTurn> = {}): SentTurn => ({
    ...{
      handle: `ctx:${session}${n}`,
      state: `${n}`,
      id: `id ${session} ${n}`,
      key: `${session}:${n}`,
      session,
    },
    ...{ messages: 1, hasVector: true },
    ...more,
  })
  const looked = {
    mark: { made: "1", newest: 3, followed: { 1: 10 } },
    embedder: "e",
    left: ["c"],
  }
  const tombstone = { session: "gone", time: 7 } as Tombstone

  /** As a sync leaves it. */
  function settled(dataHome: string): string {
    const ledger = new Ledger(dataHome, "there")
    ledger.noteSending(true)
    ledger.add([sent("a", 1), sent("b", 1, { hasVector: false }), sent("b/agent", 1), sent("ba", 1)])
    ledger.settle([tombstone], [], "views 1")
    ledger.noteThere({ forgotten: 2 })
    ledger.noteSending(false)
    ledger.noteLooked(looked)
    return join(dataHome, "sync", `${hashName("there")}.jsonl`)
  }

  const handlesIn = ({ turns }: Ledger): string[] => [...turns.keys()]

  test("what it comes to is known without it, and a family's lines without the others", () => {
    using folder = tempFolder()
    const file = settled(folder.path)
    utimesSync(file, 1, 1)
    new Ledger(folder.path, "there").noteLooked(looked)
    // Nobody reads this: it is as long as before, and as old.
    writeFileSync(file, readFileSync(file, "utf8").replaceAll("ctx:a1", "ctx:x1"))
    utimesSync(file, 1, 1)
    const ledger = new Ledger(folder.path, "there")
    expect(ledger).toMatchObject({ looked, seen: "views 1", there: { forgotten: 2 }, isWhole: true })
    expect(ledger.knows(tombstone)).toBe(true)
    expect([...ledger.bare]).toEqual(["ctx:b1"])
    ledger.readFamilies(new Set(["b"]))
    expect(handlesIn(ledger).sort()).toEqual(["ctx:b/agent1", "ctx:b1", "ctx:ba1"])
    expect(ledger.former("ctx:other", "b:1")).toEqual(sent("b", 1, { hasVector: false }))
    ledger.add([sent("b", 1, { state: "2" }), sent("d", 1, { hasVector: false })])
    ledger.settle([], [], "views 2")
    ledger.noteLooked({ ...looked, left: [] })
    const next = new Ledger(folder.path, "there")
    expect(next).toMatchObject({
      looked: { left: [] },
      seen: "views 2",
      there: { forgotten: 2 },
      isWhole: true,
    })
    expect([...next.bare]).toEqual(["ctx:d1"])
    expect(handlesIn(next).sort()).toEqual(["ctx:b/agent1", "ctx:b1", "ctx:ba1", "ctx:d1", "ctx:x1"])
  })

  test("it is read as a whole where turns leave it, and where anybody else has written to it", () => {
    using folder = tempFolder()
    const file = settled(folder.path)
    const ledger = new Ledger(folder.path, "there")
    ledger.readFamilies(new Set(["b"]))
    ledger.settle([], ["ctx:b1"], undefined)
    expect(handlesIn(ledger)).toEqual(["ctx:a1", "ctx:b/agent1", "ctx:ba1"])
    ledger.noteLooked(looked)
    appendFileSync(file, `${JSON.stringify(sent("e", 1))}\n`)
    const other = new Ledger(folder.path, "there")
    expect(other.looked).toBeUndefined()
    other.readFamilies(new Set(["b"]))
    expect(handlesIn(other)).toEqual(["ctx:a1", "ctx:b/agent1", "ctx:ba1", "ctx:e1"])
    expect(other).toMatchObject({ seen: "views 1", there: { forgotten: 2 }, isWhole: true })
    // As versions before left it, and after it was lost.
    rmSync(file.replace(/jsonl$/, "last.json"))
    expect(handlesIn(new Ledger(folder.path, "there"))).toHaveLength(4)
    rmSync(file)
    expect(new Ledger(folder.path, "there")).toMatchObject({ looked: undefined, isWhole: false })
  })

  test("a sync that was killed leaves nothing to rely on", () => {
    using folder = tempFolder()
    settled(folder.path)
    const ledger = new Ledger(folder.path, "there")
    ledger.noteSending(true)
    ledger.add([sent("f", 1)])
    const next = new Ledger(folder.path, "there")
    expect(next).toMatchObject({ looked: undefined, isWhole: false })
    expect(next.turns.has("ctx:f1")).toBe(true)
  })
})

/** Which target counts where none is named. */
describe("choose target", () => {
  const named = (to: string) => ({ named: to, by: "CTXBRIDGE_SYNC_TO" as const })
  const NOTHING = { to: undefined, server: false, agentdb: undefined }

  test.each<[BackendName, Partial<typeof NOTHING> & object, string[]]>([
    ["auto", {}, []],
    ["auto", { server: true, agentdb: "/a" } as never, ["postgres:", "agentdb:"]],
    ["auto", { agentdb: "/a" } as never, ["agentdb:"]],
    // What is named expressly is the only one.
    ["auto", { to: named("/stick"), server: true, agentdb: "/a" } as never, ["/stick"]],
    ["json", { to: named("/stick"), server: true } as never, ["/stick"]],
    ["sqlite", { to: named("sqlite:/x.db"), server: true } as never, ["sqlite:/x.db"]],
    ["postgres", { to: named("/stick") } as never, ["postgres:"]],
    ["postgres", { to: named("postgres://me@db/x"), server: true } as never, ["postgres://me@db/x"]],
    ["postgres", {}, ["postgres:"]],
    ["agentdb", { to: named("/stick"), agentdb: "/a" } as never, ["agentdb:"]],
    ["agentdb", { to: named("agentdb:/x.db"), agentdb: "/a" } as never, ["agentdb:/x.db"]],
  ])("%s with %j", (backend, wishes, wanted) => {
    const chosen = chooseTargets(backend, { ...NOTHING, ...wishes })
    expect(chosen.map((one) => one.named)).toEqual(wanted)
    for (const { why } of chosen) expect(why).toMatch(/^(CTXBRIDGE|RUVECTOR)_/)
  })

  test.each<[BackendName]>([["sqlite"], ["json"], ["agentdb"]])(
    "%s without a place is an error",
    (backend) => {
      const to = backend === "json" ? "sqlite:/x.db" : "/stick"
      expect(() => chooseTargets(backend, { ...NOTHING, to: named(to) })).toThrow(
        `CTXBRIDGE_BACKEND is ${backend}, but nothing says where that is`,
      )
    },
  )
})

/** What others have written about a piece of a vault is checked before it names any file, or any session. */
describe("pieces", () => {
  const { frame: _, ...good } = piece("x\n")

  test("what is damaged is about no piece", () => {
    expect(isPieceAbout(good)).toBe(true)
    for (const bad of [
      { place: 7 },
      { session: null },
      { from: 5, to: 5 },
      { from: -1 },
      { to: 1.5 },
      { sha256: "00" },
      { tailHash: "xyz" },
      { rules: 256 },
      { folder: 7 },
    ])
      expect({ bad, is: isPieceAbout({ ...good, ...bad }) }).toEqual({ bad, is: false })
  })

  const PROJECTS = "/home/ada/.claude/projects"
  const THREAD = "5e551011-0000-7000-8000-000000000001"

  /** As a machine sends what is at a path. */
  const at = (path: string, session: string) => ({ path, session, place: vaultPath(path, "/home/ada") })

  test("names as machines of ours give them", () => {
    const run = "5e551011/subagents/workflows/wf_1"
    for (const plain of [
      {},
      at(`${PROJECTS}/-src-app/5e551011.jsonl`, "5e551011"),
      at(`${PROJECTS}/-src-app/5e551011/subagents/agent-a1.jsonl`, "5e551011/a1"),
      at(`${PROJECTS}/-src-app/agent-a1.jsonl`, "5e551011/a1"),
      at(`${PROJECTS}/-src-app/${run}/agent-a1.jsonl`, "5e551011/a1"),
      at(`${PROJECTS}/-src-app/${run}/journal.jsonl`, "5e551011/workflows/wf_1/journal"),
      at(`${PROJECTS}/-src-app/5e551011/tool-results/what it (said).txt`, "5e551011"),
      at(`/mnt/other/projects/-src-app/5e551011.jsonl`, "5e551011"),
      at(`/tmp/5e551011.jsonl`, "5e551011"),
      // A transcript of another name goes by the hash of it.
      at(`${PROJECTS}/-src-app/my notes.jsonl`, sessionIdOf("my notes")),
      at(`${PROJECTS}/-src-app/--continue.jsonl`, sessionIdOf("--continue")),
      at(`${PROJECTS}/Größe 2/5e551011.jsonl`, "5e551011"),
      at(`/home/ada/.codex/sessions/2026/03/02/rollout-2026-03-02T08-00-00-${THREAD}.jsonl`, THREAD),
      at(`/mnt/other/sessions/2026/03/02/rollout-2026-03-02T08-00-00-${THREAD}.jsonl`, THREAD),
      at("/home/ada/.local/share/opencode/session~/ses_5e551011.jsonl", "ses_5e551011"),
      at(`/home/ada/.copilot/session-state/${THREAD}/events.jsonl`, THREAD),
      at(`/home/ada/.qwen/projects/-src-app/chats/${THREAD}.jsonl`, THREAD),
      at(`/home/ada/.gemini/tmp/app/chats/session-2026-03-02T08-00-5e551011.jsonl`, THREAD),
      {
        session: "5e551011~claude-mem",
        place: "imported/claude-mem/5e551011~claude-mem.jsonl.zst",
        path: "/home/ada/my files/mem.db~/5e551011~claude-mem.jsonl",
      },
      { place: "summaries/5e551011.jsonl.zst" },
      { writer: "MacBook-Pro-1a2b3c4d" },
    ])
      expect({ plain, is: isPlainlyNamed({ ...good, ...plain }) }).toEqual({ plain, is: true })
  })

  /** None may be the name of a session, of an agent, a copy or a machine. */
  const ODD = [
    "",
    "-x",
    "--dangerously-skip-permissions",
    "..",
    ".x",
    "a b",
    "a\nb",
    "a\u001b[31m",
    "a\u202eb",
    "$(id)",
    "a;b",
    "a\\b",
    "C:x",
    "größe",
    "x".repeat(201),
  ]

  test("what leads out of the vault, or is an option or a sentence, names no piece", () => {
    const bad = [
      ...ODD.flatMap((name) => [
        { session: name },
        { session: `5e551011/${name}` },
        { session: `${name}/a1` },
        { writer: name },
        { copy: name },
        { place: `home/-src-app/${name}.jsonl.zst` },
        { place: `home/-src-app/${name}/subagents/agent-a1.jsonl.zst` },
        { path: `${PROJECTS}/-src-app/${name}.jsonl` },
        { path: `${PROJECTS}/-src-app/${name}.jsonl`, session: name },
        { path: `${PROJECTS}/-src-app/5e551011/subagents/agent-${name}.jsonl`, session: `5e551011/${name}` },
      ]),
      { session: "another" },
      { session: "5e551011/a1" },
      { place: "home/../../etc/x.jsonl.zst" },
      { place: "home/-x/5e551011/../x.jsonl.zst" },
      { place: "home/-x/5e551011/-x/y.jsonl.zst" },
      { place: "/home/x.zst" },
      { place: "home//x.zst" },
      { place: "home/./x.zst" },
      { place: "fetched/x/y/home/x.zst" },
      { place: "codex/x.jsonl.zst" },
      { place: "codex/../home/x.jsonl.zst" },
      { place: "codex/home/-x.jsonl.zst" },
      { place: "someone/home/x.jsonl.zst" },
      { place: "home/x.jsonl" },
      { place: "home/a\0b.zst" },
      { place: "home/a\u001b[2J/x.zst" },
      { place: "home/C:\\x/x.zst" },
      { writer: "../x" },
      { copy: "a/b" },
      { path: "relative.jsonl" },
      { path: "/home/a\u001b[2J/5e551011.jsonl" },
    ]
    for (const one of bad)
      expect({ one, is: isPlainlyNamed({ ...good, ...one }) }).toEqual({ one, is: false })
  })
})
