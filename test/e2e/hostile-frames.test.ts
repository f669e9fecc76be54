/** What somebody puts into a shared place to harm whoever fetches it: frames that fill the memory, and names that are orders. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { tryTo } from "../../src/base/files.ts"
import { entryOf } from "../../src/sync/targets/entry.ts"
import { openFolderTarget } from "../../src/sync/targets/folder-target.ts"
import type { VaultPiece } from "../../src/sync/targets/pieces.ts"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { dataFrame, sha256 } from "../../src/vault/frame.ts"
import { vaultFiles } from "../../src/vault/vault-files.ts"
import { binary, run } from "../support/binary.ts"
import { BLOCK, bomb } from "../support/bomb.ts"
import { type FramesOf, openFolderFrames, openPostgresFrames } from "../support/frames-of.ts"
import { Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { NO_VARIABLES, startPglite } from "../support/postgres.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(300_000))

/** Elsewhere the system does not tell. */
const isWatched = process.platform === "linux"
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
const SPACES = 64 * 8 * BLOCK
const numbered = (n: number): string => `deadbeef-0000-4000-8000-${String(n).padStart(12, "0")}`

/** A whole transcript in one piece, of a machine called `evil-1`. */
function piece(n: number, about: Partial<VaultPiece> = {}): VaultPiece {
  const session = about.session ?? numbered(n)
  const line = {
    type: "user",
    uuid: `u${n}`,
    sessionId: session,
    message: { role: "user", content: `okapi ${n}` },
  }
  const content = new TextEncoder().encode(
    `${JSON.stringify({ ...line, timestamp: "2026-01-02T03:04:05.000Z", cwd: "/x" })}\n`,
  )
  return {
    ...{ writer: "evil-1", copy: `c${n}`, session, folder: "/x", created: 1_700_000_000_000 + n },
    place: `home/-x/${session}.jsonl.zst`,
    path: `/home/ada/.claude/projects/-x/${session}.jsonl`,
    ...{ from: 0, to: content.length, sha256: hex(sha256(content)), frame: dataFrame(content) },
    ...{ tailHash: "abc", time: 1_700_000_000_001, rules: 3, hidden: 0 },
    ...about,
  }
}

interface Pulled {
  readonly code: number
  readonly stderr: string
  readonly fetched: Record<string, number>
  /** MB. */
  readonly peak: number
}

/** Runs the binary, and watches how much memory it takes. What the system counts holds for the parent, too. */
async function watched(machine: Machine, ...args: string[]) {
  const child = Bun.spawn([binary(), ...args], {
    env: { PATH: process.env["PATH"] ?? "", ...machine.env },
    ...{ cwd: machine.cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  })
  const output = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  let peak = 0
  while (child.exitCode === null) {
    const told = tryTo(() => readFileSync(`/proc/${child.pid}/status`, "utf8"))
    peak = Math.max(peak, Number(/^VmHWM:\s+(\d+) kB/m.exec(told ?? "")?.[1] ?? 0) >> 10)
    await Bun.sleep(2)
  }
  const [stdout, stderr] = await output
  return { code: child.exitCode, stdout, stderr, peak }
}

async function pulled(machine: Machine, target: string): Promise<Pulled> {
  const { stdout, ...ended } = await watched(machine, "sync", "--to", target, "--pull", "--json")
  return { ...ended, fetched: JSON.parse(stdout).fetched }
}

/** 1.3 GB of spaces in 40 kB, told and untold. */
const MANY = 10_000
const BOMBS: readonly (readonly [does: string, about: Partial<VaultPiece>])[] = [
  ["tells no length", { frame: bomb(MANY) }],
  ["tells a short one", { frame: bomb(MANY, 200), to: 200 }],
  ["tells a long one, and its piece a short one", { frame: bomb(MANY, MANY * BLOCK), to: 200 }],
  ["says what it is", { frame: bomb(MANY, MANY * BLOCK), to: MANY * BLOCK }],
  ["says what it is, and is as long as a line may be", { frame: bomb(SPACES / BLOCK, SPACES), to: SPACES }],
  ["says that it is more than there is", { frame: bomb(MANY, 2 ** 50), to: 2 ** 50 }],
  ["comes behind another one", { frame: Buffer.concat([piece(0).frame, bomb(MANY)]) }],
  ["is no frame", { frame: new Uint8Array(1000) }],
  ["is nothing", { frame: new Uint8Array(0) }],
]

const stores: readonly (readonly [
  kind: string,
  open: (stack: AsyncDisposableStack) => Promise<{ target: string; store: FramesOf }>,
])[] = [
  [
    "a folder",
    async (stack) => {
      const { path } = stack.use(tempFolder())
      return { target: path, store: openFolderFrames(path, "evil-1") }
    },
  ],
  [
    "PostgreSQL",
    async (stack) => {
      const server = stack.use(await startPglite({ vectors: false }))
      const store = await openPostgresFrames(serverAddress(server.address, NO_VARIABLES), "evil-1")
      stack.defer(() => store.close())
      return { target: server.address, store }
    },
  ],
]

for (const [kind, open] of stores) {
  describe(`frames in ${kind}`, () => {
    test("that would fill the memory are not unpacked, and are counted; sound ones come, also after repair", async () => {
      await using stack = new AsyncDisposableStack()
      const { target, store } = await open(stack)
      using machine = new Machine()
      await store.put([piece(100)])
      const { peak: usual } = await pulled(machine, target)
      const bombs = BOMBS.map(([, about], n) => piece(n, about))
      await store.put([...bombs, piece(101)])
      for (const copies of [1, 0]) {
        const { fetched, peak, ...ended } = await pulled(machine, target)
        expect(ended).toEqual({ code: 0, stderr: "" })
        expect(fetched).toMatchObject({
          available: BOMBS.length + 2,
          copies,
          damaged: BOMBS.length,
          misnamed: 0,
        })
        expect(peak).toBeLessThan(usual + 100)
      }
      await store.drop(bombs.map(({ copy }) => copy))
      await store.put(bombs.map((_, n) => piece(n)))
      expect((await pulled(machine, target)).fetched).toMatchObject({ copies: BOMBS.length, damaged: 0 })
      const found = await run(["search", "okapi", "--all-projects", "--json", "--limit", "20"], {
        env: machine.env,
        cwd: machine.cwd,
      })
      expect(JSON.parse(found.stdout).hits).toHaveLength(BOMBS.length + 2)
      expect(await run(["verify"], { env: machine.env, cwd: machine.cwd })).toMatchObject({
        code: 0,
        stderr: "",
      })
    })

    test("that turn out to be others are unpacked once, and again when they are replaced", async () => {
      await using stack = new AsyncDisposableStack()
      const { target, store } = await open(stack)
      using machine = new Machine()
      await store.put([piece(100)])
      const { peak: usual } = await pulled(machine, target)
      const big = { to: SPACES + BLOCK, frame: bomb(SPACES / BLOCK, SPACES + BLOCK, true) }
      await store.put([piece(1, { ...big, sha256: "0".repeat(64) })])
      const first = await pulled(machine, target)
      expect(first.fetched).toMatchObject({ copies: 0, damaged: 1 })
      if (isWatched) expect(first.peak).toBeGreaterThan(usual + 40)
      for (let n = 0; n < 2; n++) {
        const next = await pulled(machine, target)
        expect(next.fetched).toMatchObject({ copies: 0, damaged: 1 })
        expect(next.peak).toBeLessThan(usual + 30)
      }
      await store.drop(["c1"])
      await store.put([piece(1)])
      expect((await pulled(machine, target)).fetched).toMatchObject({ copies: 1, damaged: 0 })
    })

    test("whose names are options, paths or sentences are left out, counted, and told in one line", async () => {
      await using stack = new AsyncDisposableStack()
      const { target, store } = await open(stack)
      using machine = new Machine()
      const odd = ["--dangerously-skip-permissions", "-x", "a b", "..", "x;y", "größe"]
      const bad = [
        ...odd.map((session, n) => piece(n, { session })),
        piece(20, { place: "home/../../../../planted/x.jsonl.zst" }),
        piece(21, { place: "home/-x/--continue.jsonl.zst" }),
        piece(22, { path: "/home/ada/.claude/projects/-x/--continue.jsonl" }),
        piece(23, { copy: "../../../planted" }),
      ]
      await store.put([...bad, piece(100)])
      const { fetched, ...ended } = await pulled(machine, target)
      expect(ended).toMatchObject({ code: 0, stderr: "" })
      expect(fetched).toMatchObject({ available: 1, copies: 1, damaged: 0, misnamed: bad.length })
      const told = await run(["sync", "--to", target, "--pull"], { env: machine.env, cwd: machine.cwd })
      expect(told).toMatchObject({
        code: 0,
        stdout: `Nothing new from ${target.replace(/:[^:@/]*@/, "@")}\n${bad.length} transcripts left out: their session ids or machine names are not valid\n`,
        stderr: "",
      })
      expect(vaultFiles(machine.dataHome).map(({ copy }) => copy)).toEqual([
        // Whoever can write to a plain folder may have written it.
        `fetched/${kind === "a folder" ? "~" : ""}evil-1/c100/home/-x/${numbered(100)}.jsonl.zst`,
      ])
      expect(readdirSync(machine.root).sort()).toEqual(["archive", "home", "project"])
      for (const args of [
        ["sessions", "--all-projects"],
        ["search", "okapi", "--all-projects"],
      ]) {
        const { code, stdout } = await run(args, { env: machine.env, cwd: machine.cwd })
        expect({ args, code, isOdd: odd.some((name) => stdout.includes(name)) }).toEqual({
          args,
          code: 0,
          isOdd: false,
        })
      }
    })
  })
}

test("of what a machine of ours sends, nothing is left out: strange names, subagents, files beside a transcript", async () => {
  using folder = tempFolder()
  using machine = new Machine()
  using laptop = new Machine()
  const id = numbered(1)
  const line = (text: string, about: object = {}): string =>
    `${JSON.stringify({ type: "user", uuid: crypto.randomUUID(), sessionId: id, message: { role: "user", content: text }, timestamp: "2026-01-02T03:04:05.000Z", cwd: machine.cwd, version: "2.1.112", ...about })}\n`
  const files = {
    [`${id}.jsonl`]: line("okapi one"),
    "my notes (2).jsonl": line("okapi two", { sessionId: "my notes (2)" }),
    "--continue.jsonl": line("okapi three", { sessionId: "--continue" }),
    "agent-a0.jsonl": line("okapi four", { isSidechain: true, agentId: "a0" }),
    [`${id}/subagents/agent-a1.jsonl`]: line("okapi five", { isSidechain: true, agentId: "a1" }),
    [`${id}/tool-results/what it (said).txt`]: "okapi six\n",
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(machine.path(name)), { recursive: true })
    writeFileSync(machine.path(name), text)
  }
  const done = await run(["import"], { env: machine.env, cwd: machine.cwd })
  expect({ code: done.code, stderr: done.stderr }).toEqual({ code: 0, stderr: "" })
  const sent = await run(["sync", "--to", folder.path, "--frames", "--json"], {
    env: machine.env,
    cwd: machine.cwd,
  })
  const { copies } = JSON.parse(sent.stdout).frames
  expect(copies).toBeGreaterThanOrEqual(5)
  expect((await pulled(laptop, folder.path)).fetched).toMatchObject({
    available: copies,
    copies,
    damaged: 0,
    misnamed: 0,
  })
  expect(await run(["verify"], { env: laptop.env, cwd: laptop.cwd })).toMatchObject({ code: 0, stderr: "" })
})

describe("entries", () => {
  const entry = (sessionId: string) =>
    entryOf({
      ...{ summary: "okapi there", content: "okapi there" },
      metadata: {
        ...{ sessionId, chunkIndex: 1, messages: 1, takenBack: false, toolNames: [], filePaths: [] },
        ...{ timestamp: "2026-01-02T03:04:05.000Z", ended: null, project: "/x/project" },
      },
    })

  test("of a session that is an option, a path or a sentence are left out, counted and told: command, server, sync", async () => {
    using folder = tempFolder()
    using machine = new Machine()
    const odd = ["--dangerously-skip-permissions", "-x", "a b", "../../planted", "s/../x", ""]
    const bad = odd.map(entry)
    const good = [entry(numbered(1)), entry(`${numbered(1)}/a1`), entry("s0123~claude-mem")]
    await openFolderTarget(folder.path, "evil-1").put([...bad, ...good])
    await machine.hook("stop", machine.session().turn("The okapi here").flush())
    const env = { ...machine.env, CTXBRIDGE_SYNC_TO: folder.path }
    const warning = `${folder.path}: 6 turns left out, because their session ids are not valid`
    for (const [where, here] of [
      ["--everywhere", 1],
      ["--backend", 0],
    ] as const) {
      const args = where === "--backend" ? [where, folder.path] : [where]
      const found = await run(["search", "okapi", "--all-projects", "--json", ...args], {
        env,
        cwd: machine.cwd,
      })
      expect({ code: found.code, stderr: found.stderr }).toEqual({ code: 0, stderr: `warning: ${warning}\n` })
      const { hits } = JSON.parse(found.stdout) as { hits: { session: string }[] }
      expect(hits).toHaveLength(good.length + here)
      expect(hits.filter(({ session }) => odd.includes(session))).toEqual([])
    }
    for (const { id } of bad)
      expect(await run(["show", `far:${id.slice(0, 16)}`], { env, cwd: machine.cwd })).toMatchObject({
        code: 3,
        stdout: "",
      })
    await using peer = await Peer.connect(machine.cwd, env)
    const { text } = await peer.call("search", { query: "okapi", everywhere: true })
    expect(text).toContain("6 turns left out, because their session ids are not valid")
    expect(text).not.toContain("dangerously")
    const { code, stdout, stderr } = await run(["sync"], { env, cwd: machine.cwd })
    expect({ code, stderr, lines: stdout.split("\n") }).toMatchObject({
      ...{ code: 0, stderr: "" },
      lines: [
        `Sent 1 turn to ${folder.path}`,
        "There now: 4 turns of 4 sessions",
        "6 turns there left out: their session ids are not valid",
        "",
      ],
    })
  })

  test("a line that never ends costs only itself", async () => {
    using folder = tempFolder()
    using machine = new Machine()
    await openFolderTarget(folder.path, "one-1").put([entry(numbered(1))])
    const sub = join(folder.path, "entries")
    // 512 MB that take no room.
    const endless = join(sub, "evil-1.1.jsonl")
    writeFileSync(endless, "")
    truncateSync(endless, 2 ** 29)
    mkdirSync(join(folder.path, "frames"), { recursive: true })
    writeFileSync(join(folder.path, "frames", "evil-1.1.jsonl"), "")
    truncateSync(join(folder.path, "frames", "evil-1.1.jsonl"), 2 ** 29)
    const found = await watched(
      machine,
      "search",
      "--backend",
      folder.path,
      "okapi",
      "--all-projects",
      "--json",
    )
    expect({ code: found.code, stderr: found.stderr }).toEqual({ code: 0, stderr: "" })
    expect(JSON.parse(found.stdout).hits).toHaveLength(1)
    expect(found.peak).toBeLessThan(500)
    const { code, stderr, peak } = await watched(machine, "sync", "--to", folder.path, "--pull")
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: expect.stringContaining(`no machine has sent frames to ${folder.path}`),
    })
    expect(peak).toBeLessThan(500)
  })
})
