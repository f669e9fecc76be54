/** `ctxbridge sync --frames` and `--pull`: a new machine gets everything back, byte for byte, and nothing else. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import { run, start } from "../support/binary.ts"
import { openPostgresFrames } from "../support/frames-of.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { NO_VARIABLES, startPglite } from "../support/postgres.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const cli = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

async function synced(machine: Machine, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await cli(machine, "sync", "--json", ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

/** Frames are unpacked, so that a word is found wherever it is. */
function everything(root: string): string {
  const files = (readdirSync(root, { recursive: true, withFileTypes: true }) ?? []).filter((one) =>
    one.isFile(),
  )
  const texts = files.map((one) => readFileSync(join(one.parentPath, one.name), "latin1"))
  const frames = texts.flatMap((text) => [...text.matchAll(/"frame":"([^"]+)"/g)].map(([, frame]) => frame!))
  return [
    ...texts,
    ...frames.map((frame) =>
      Buffer.from(Bun.zstdDecompressSync(Buffer.from(frame, "base64"))).toString("latin1"),
    ),
  ].join("\n")
}

/** Where a machine keeps what it fetched of a transcript. */
function mirrors(machine: Machine): string[] {
  const root = join(machine.dataHome, "vault", "fetched")
  if (!existsSync(root)) return []
  return (readdirSync(root, { recursive: true }) as string[])
    .filter((name) => name.endsWith(".zst"))
    .map((name) => join(root, name))
}

const bytesOf = ({ path }: Transcript): string => readFileSync(path, "utf8")
const COMMAND = { tool: "Bash", input: { command: "npm test" }, output: "12 tests passed" }
const SESSION = "aaaaaaaa-0000-4000-8000-000000000001"

describe("a new laptop", () => {
  for (const [kind, server] of [
    ["through a folder", undefined],
    ["through PostgreSQL", () => startPglite({ vectors: false })],
  ] as const) {
    test(`gets everything back, ${kind}`, async () => {
      using old = new Machine()
      using laptop = new Machine()
      using folder = tempFolder()
      await using stack = new AsyncDisposableStack()
      const target = server === undefined ? folder.path : stack.use(await server()).address
      const session = old
        .session({ id: SESSION })
        .turn("Add retries to the client", [COMMAND])
        .turn("Now the docs")
      await old.hook("stop", session.flush())
      const first = await synced(old, "--to", target, "--frames")
      expect(first).toMatchObject({ stored: 2, frames: { copies: 1, pieces: 1, changed: 0 }, fetched: null })
      // Small frames are merged meanwhile, and the transcript grows.
      await old.hook("stop", session.turn("And a changelog").flush())
      expect(await cli(old, "optimize", "--frames")).toMatchObject({ code: 0 })
      expect(await synced(old, "--to", target, "--frames")).toMatchObject({
        stored: 1,
        frames: { copies: 1, pieces: 1, changed: 0 },
      })
      expect(await synced(old, "--to", target, "--frames")).toMatchObject({
        frames: { copies: 0, pieces: 0 },
      })

      const fetched = await synced(laptop, "--to", target, "--pull")
      expect(fetched).toMatchObject({
        turns: 0,
        frames: null,
        fetched: { available: 1, copies: 1, pieces: 2, bytes: bytesOf(session).length, damaged: 0 },
      })
      const [mirror, ...others] = mirrors(laptop)
      expect(others).toEqual([])
      expect(contentOf(mirror!).toString()).toBe(bytesOf(session))
      const verified = await cli(laptop, "verify", "--json")
      expect({ code: verified.code, stderr: verified.stderr }).toEqual({ code: 0, stderr: "" })
      expect(JSON.parse(verified.stdout).totals).toMatchObject({
        fetched: 1,
        damaged: 0,
        missing: 0,
        mismatch: 0,
      })
      const found = await cli(laptop, "search", "changelog", "--all-projects", "--json")
      expect(found).toMatchObject({ code: 0, stderr: "" })
      const [hit] = JSON.parse(found.stdout).hits
      expect(hit).toMatchObject({ session: SESSION })
      const shown = await cli(laptop, "show", hit.handle)
      expect(shown).toMatchObject({ code: 0, stderr: "" })
      expect(shown.stdout).toContain("And a changelog")
      expect(await cli(laptop, "resurrect", SESSION)).toMatchObject({ code: 0, stderr: "" })
      expect(
        readFileSync(
          laptop
            .path(`${SESSION}.jsonl`)
            .replace(/-[^/]*(?=\/[^/]*$)/, dirname(session.path).split("/").at(-1)!),
          "utf8",
        ),
      ).toBe(bytesOf(session))

      // Nothing twice, neither here nor there.
      expect(await synced(laptop, "--to", target, "--pull", "--frames")).toMatchObject({
        turns: 0,
        stored: 0,
        there: { entries: 3 },
        frames: { copies: 0 },
        fetched: { copies: 0, pieces: 0 },
      })
      await old.hook("stop", session.turn("One more thing").flush())
      await synced(old, "--to", target, "--frames")
      expect(await synced(laptop, "--to", target, "--pull")).toMatchObject({
        fetched: { copies: 1, pieces: 1 },
      })
      expect(contentOf(mirror!).toString()).toBe(bytesOf(session))
      expect((await cli(laptop, "search", "One more thing", "--all-projects")).stdout).toContain(
        "One more thing",
      )
    })
  }
})

test("without frames, --pull says what to do", async () => {
  using machine = new Machine()
  using folder = tempFolder()
  expect(await cli(machine, "sync", "--to", folder.path, "--pull")).toMatchObject({
    code: 3,
    stdout: "",
    stderr: `ctxbridge: no machine has sent frames to ${folder.path}\nhint: run ctxbridge sync --frames there, on the machine that has them\n`,
  })
  expect(await cli(machine, "sync", "--to", folder.path, "--pull", "--dry-run")).toMatchObject({ code: 64 })
})

describe("what must not leave the machine", () => {
  test("secrets, even if the filter was off; what a new machine gets has as many bytes", async () => {
    using machine = new Machine()
    using laptop = new Machine()
    using folder = tempFolder()
    const key = `sk-ant-api03-${"Zq7Xw9Lm2Kp4Rt6Yv8Bn1Cd3".repeat(4)}-AA`
    Object.assign(machine.env, { CTXBRIDGE_SECRETS: "off" })
    const session = machine.session().turn(`use ${key} for it`)
    await machine.hook("stop", session.flush())
    await synced(machine, "--to", folder.path, "--frames")
    expect(everything(folder.path)).toContain("for it")
    expect(everything(folder.path)).not.toContain(key)
    // It is compared with what would be sent today, not with the vault.
    await machine.hook("stop", session.turn("more").flush())
    const known = join(machine.dataHome, "sync")
    for (const name of readdirSync(known)) if (name.endsWith(".frames.json")) rmSync(join(known, name))
    expect(await synced(machine, "--to", folder.path, "--frames")).toMatchObject({ frames: { changed: 0 } })
    await synced(laptop, "--to", folder.path, "--pull")
    const [mirror] = mirrors(laptop).map((file) => contentOf(file).toString())
    expect(mirror).toHaveLength(bytesOf(session).length)
    expect(mirror).not.toContain(key)
  })

  test("folders that were excluded, and what this machine excludes is not fetched", async () => {
    using machine = new Machine()
    using other = new Machine()
    using folder = tempFolder()
    await machine.hook("stop", machine.session({ cwd: "/srv/client" }).turn("about the client").flush())
    await machine.hook("stop", machine.session({ cwd: "/srv/own" }).turn("about us").flush())
    const config = (of: Machine, excluded: string): void => {
      const file = join(of.root, "config.toml")
      writeFileSync(file, `[capture]\nexclude = ["${excluded}"]\n`)
      Object.assign(of.env, { CTXBRIDGE_CONFIG: file })
    }
    config(machine, "/srv/client")
    expect(await synced(machine, "--to", folder.path, "--frames")).toMatchObject({
      frames: { copies: 1, excluded: 1 },
    })
    expect(everything(folder.path)).not.toContain("about the client")
    config(other, "/srv/own")
    expect(await synced(other, "--to", folder.path, "--pull")).toMatchObject({
      fetched: { available: 1, copies: 0, excluded: 1 },
    })
    expect(mirrors(other)).toEqual([])
  })

  test("a forgotten session: taken away there, not fetched, and not fetched where it is forgotten", async () => {
    using one = new Machine()
    using other = new Machine()
    using third = new Machine()
    using folder = tempFolder()
    const session = one.session({ id: SESSION }).turn("the code is swordfish")
    await one.hook("stop", session.flush())
    await one.hook(
      "stop",
      one
        .session({ id: SESSION.replace("1", "2") })
        .turn("something else")
        .flush(),
    )
    await synced(one, "--to", folder.path, "--frames")
    await synced(other, "--to", folder.path, "--pull")
    expect(mirrors(other)).toHaveLength(2)
    expect(await cli(third, "sync", "--to", folder.path, "--pull")).toMatchObject({ code: 0, stderr: "" })
    expect(await cli(third, "forget", SESSION, "--yes")).toMatchObject({ code: 0 })
    expect(await synced(third, "--to", folder.path, "--pull")).toMatchObject({
      fetched: { available: 2, copies: 0, refused: 1 },
    })
    expect(everything(join(third.dataHome, "vault"))).not.toContain(SESSION)

    expect(await cli(one, "forget", SESSION, "--yes")).toMatchObject({ code: 0 })
    await synced(one, "--to", folder.path)
    expect(everything(folder.path)).not.toContain("swordfish")
    expect(await synced(one, "--to", folder.path, "--frames")).toMatchObject({
      frames: { copies: 0, refused: 0 },
    })
    // What another machine has fetched stays there, and it says so.
    const { stdout } = await cli(other, "sync", "--to", folder.path, "--pull")
    expect(stdout).toContain(
      `1 session here was forgotten on another machine, and stays here until you\nrun ctxbridge forget: ${SESSION}\n`,
    )
    expect(mirrors(other)).toHaveLength(2)
    expect(await cli(other, "forget", SESSION, "--yes")).toMatchObject({ code: 0 })
    expect(mirrors(other)).toHaveLength(1)
    expect(await synced(other, "--to", folder.path, "--pull")).toMatchObject({
      fetched: { forgottenElsewhere: [] },
    })
  })

  test("a text that was taken out leaves the target, and what others fetched of it", async () => {
    using one = new Machine()
    using other = new Machine()
    using folder = tempFolder()
    const session = one.session({ id: SESSION }).turn("the code is swordfish").turn("and more")
    await one.hook("stop", session.flush())
    await synced(one, "--to", folder.path, "--frames")
    await synced(other, "--to", folder.path, "--pull")
    expect(await cli(one, "forget", "--match", "swordfish", "--yes")).toMatchObject({ code: 0 })
    await one.hook("stop", session.turn("and still more").flush())
    expect(await synced(one, "--to", folder.path, "--frames")).toMatchObject({ frames: { changed: 1 } })
    expect(everything(folder.path)).not.toContain("swordfish")
    expect(await synced(other, "--to", folder.path, "--pull")).toMatchObject({
      fetched: { changed: 1, copies: 1 },
    })
    const [mirror] = mirrors(other)
    expect(contentOf(mirror!).toString()).toBe(bytesOf(session).replaceAll("swordfish", "*********"))
    expect((await cli(other, "search", "swordfish", "--all-projects")).stdout).not.toContain("the code is")
    expect((await cli(other, "search", "still more", "--all-projects")).stdout).toContain("still more")
    expect(await cli(other, "verify")).toMatchObject({ code: 0, stderr: "" })
  })
})

test("a session continued on two machines: both have both ways, and each its own to go on with", async () => {
  using one = new Machine()
  using other = new Machine()
  using folder = tempFolder()
  const here = one.session({ id: SESSION }).turn("the beginning")
  await one.hook("stop", here.flush())
  await synced(one, "--to", folder.path, "--frames")
  await synced(other, "--to", folder.path, "--pull")
  expect(await cli(other, "resurrect", SESSION)).toMatchObject({ code: 0 })
  const path = other
    .path(`${SESSION}.jsonl`)
    .replace(/-[^/]*(?=\/[^/]*$)/, dirname(here.path).split("/").at(-1)!)
  const begun = readFileSync(path, "utf8")
  expect(begun).toBe(bytesOf(here))
  const { tip } = here
  await one.hook("stop", here.turn("one went left").flush())
  const there = other.session({ id: SESSION, cwd: one.cwd })
  Object.assign(there, { path })
  there.backTo(tip).turn("other went right")
  const appended = there.flush()
  expect(bytesOf(appended)).toContain("other went right")
  await other.hook("stop", appended)
  for (const machine of [one, other, one, other])
    await synced(machine, "--to", folder.path, "--frames", "--pull")
  for (const [machine, own] of [
    [one, "one went left"],
    [other, "other went right"],
  ] as const) {
    for (const words of ["one went left", "other went right"]) {
      const { stdout } = await cli(machine, "search", words, "--all-projects")
      expect(stdout).toContain(words)
      // Nobody took it back.
      expect(stdout).not.toContain("rewound")
    }
    expect(await cli(machine, "verify")).toMatchObject({ code: 0, stderr: "" })
    const { stdout } = await cli(machine, "export", SESSION, "--raw")
    expect(stdout).toContain(own)
  }
  expect((await synced(one, "--to", folder.path, "--frames", "--pull"))["there"]).toMatchObject({
    entries: 3,
  })
})

test("what is damaged there is not kept, and is sent again; with --all also where nothing shows it", async () => {
  using one = new Machine()
  using other = new Machine()
  using folder = tempFolder()
  const session = one.session().turn("x".repeat(2000))
  await one.hook("stop", session.flush())
  await synced(one, "--to", folder.path, "--frames")
  const frames = join(folder.path, "frames")
  const file = join(frames, readdirSync(frames)[0]!)
  const line = readFileSync(file, "utf8")
  const at = line.indexOf('"frame":"') + 60
  writeFileSync(file, `${line.slice(0, at)}${line[at] === "A" ? "B" : "A"}${line.slice(at + 1)}`)
  expect(await synced(other, "--to", folder.path, "--pull")).toMatchObject({
    fetched: { damaged: 1, copies: 0 },
  })
  expect(mirrors(other).filter((mirror) => contentOf(mirror).length > 0)).toEqual([])
  // The file has another time than this machine left it with.
  expect(await synced(one, "--to", folder.path, "--frames")).toMatchObject({
    frames: { lost: 1, changed: 0, pieces: 1 },
  })
  const then = new Date("2026-01-01T00:00:00Z")
  utimesSync(file, then, then)
  expect(await synced(one, "--to", folder.path, "--frames")).toMatchObject({ frames: { pieces: 0, lost: 0 } })
  writeFileSync(file, `${line.slice(0, at)}${line[at] === "A" ? "B" : "A"}${line.slice(at + 1)}`)
  utimesSync(file, then, then)
  expect(await synced(one, "--to", folder.path, "--frames")).toMatchObject({ frames: { pieces: 0 } })
  expect(await synced(one, "--to", folder.path, "--frames", "--all")).toMatchObject({
    frames: { lost: 1, changed: 0, pieces: 1 },
  })
  expect(await synced(other, "--to", folder.path, "--pull")).toMatchObject({
    fetched: { damaged: 0, copies: 1 },
  })
  expect(contentOf(mirrors(other)[0]!).toString()).toBe(bytesOf(session))
})

/** Twelve sessions of twenty turns. */
async function filled(machine: Machine): Promise<readonly Transcript[]> {
  const sessions = Array.from({ length: 12 }, () => {
    const session = machine.session()
    for (let n = 0; n < 20; n++)
      session.turn(`turn ${n}`, [{ ...COMMAND, output: crypto.randomUUID().repeat(1000) }])
    return session.flush()
  })
  expect(await cli(machine, "import")).toMatchObject({ code: 0 })
  return sessions
}

const sizeOf = (root: string): number =>
  existsSync(root)
    ? (readdirSync(root, { recursive: true }) as string[]).reduce(
        (sum, name) => sum + Bun.file(join(root, name)).size,
        0,
      )
    : 0

describe("killed in the middle", () => {
  /** Kills a sync once something has become other than before it. */
  async function interrupted(machine: Machine, look: () => unknown, ...args: string[]): Promise<void> {
    const before = await look()
    const { child, ended } = start(["sync", ...args], { env: machine.env, cwd: machine.cwd })
    while ((await look()) === before && child.exitCode === null) await Bun.sleep(1)
    child.kill(9)
    await ended
  }

  /** @param looks at entries and at frames that are there */
  async function check(target: string, looks: { entries(): unknown; frames(): unknown }): Promise<void> {
    using one = new Machine()
    using other = new Machine()
    const sessions = await filled(one)
    for (let round = 0; round < 5; round++) await interrupted(one, looks.entries, "--to", target)
    expect(await synced(one, "--to", target)).toMatchObject({ there: { entries: 240, damaged: 0 } })
    for (let round = 0; round < 8; round++) await interrupted(one, looks.frames, "--to", target, "--frames")
    expect(await synced(one, "--to", target, "--frames")).toMatchObject({
      stored: 0,
      frames: { changed: 0, refused: 0 },
      there: { entries: 240, damaged: 0 },
    })
    const vault = join(other.dataHome, "vault")
    for (let round = 0; round < 8; round++)
      await interrupted(other, () => sizeOf(vault), "--to", target, "--pull")
    expect(await synced(other, "--to", target, "--pull")).toMatchObject({ fetched: { damaged: 0 } })
    const held = mirrors(other).map((file) => contentOf(file).toString())
    expect(held.toSorted()).toEqual(sessions.map(bytesOf).toSorted())
    expect(await cli(other, "verify")).toMatchObject({ code: 0, stderr: "" })
    expect(await synced(other, "--to", target, "--pull", "--frames")).toMatchObject({
      stored: 0,
      fetched: { pieces: 0 },
      frames: { pieces: 0 },
    })
  }

  test("through a folder: nothing twice, nothing lost", async () => {
    using folder = tempFolder()
    const [entries, frames] = ["entries", "frames"].map((name) => join(folder.path, name)) as [string, string]
    await check(folder.path, { entries: () => sizeOf(entries), frames: () => sizeOf(frames) })
    const linesIn = (root: string): { id: string; copy: string; from: number }[] =>
      readdirSync(root).flatMap((name) =>
        readFileSync(join(root, name), "utf8")
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line)),
      )
    const names = [
      ...linesIn(entries).map(({ id }) => id),
      ...linesIn(frames).map(({ copy, from }) => `${copy} ${from}`),
    ]
    expect(new Set(names).size).toBe(names.length)
  })

  test("through PostgreSQL: nothing twice, nothing lost", async () => {
    await using server = await startPglite({ vectors: false })
    const address = serverAddress(server.address, NO_VARIABLES)
    const backend = await openPostgresTarget(address)
    const store = await openPostgresFrames(address, "looker")
    try {
      await check(server.address, {
        entries: async () => (await backend.stats()).entries,
        frames: async () => (await store.list()).length,
      })
      const names = (await store.list()).map(({ writer, copy, from }) => `${writer} ${copy} ${from}`)
      expect(new Set(names).size).toBe(names.length)
    } finally {
      await backend.close()
      await store.close()
    }
  })
})

describe("an encrypted folder", () => {
  const PASSPHRASE = "correct horse battery staple"
  const SECRET = { CTXBRIDGE_SYNC_PASSPHRASE: PASSPHRASE }

  test("both ways, with the passphrase from the environment or from a private file", async () => {
    using old = new Machine()
    using laptop = new Machine()
    using folder = tempFolder()
    const target = join(folder.path, "target")
    const session = old.session({ id: SESSION }).turn("the launch is on monday", [COMMAND])
    await old.hook("stop", session.flush())
    Object.assign(old.env, SECRET)
    expect(await synced(old, "--to", target, "--frames", "--encrypt")).toMatchObject({
      stored: 1,
      frames: { pieces: 1 },
    })
    expect(everything(target)).not.toContain("launch")
    expect(everything(target)).not.toContain(SESSION)
    expect(await synced(old, "--to", target, "--frames")).toMatchObject({ stored: 0, frames: { pieces: 0 } })

    const file = join(laptop.root, "passphrase")
    writeFileSync(file, `${PASSPHRASE}\n`, { mode: 0o644 })
    const config = join(laptop.root, "config.toml")
    writeFileSync(config, `[sync]\nto = "${target}"\npassphrase-file = "${file}"\n`)
    Object.assign(laptop.env, { CTXBRIDGE_CONFIG: config })
    expect(await cli(laptop, "sync", "--pull")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `ctxbridge: ${file} can be read by others\nhint: chmod 600 makes it yours alone\n`,
    })
    chmodSync(file, 0o600)
    expect(await synced(laptop, "--pull")).toMatchObject({ fetched: { copies: 1, damaged: 0 } })
    expect(contentOf(mirrors(laptop)[0]!).toString()).toBe(bytesOf(session))
    expect((await cli(laptop, "search", "launch", "--all-projects")).stdout).toContain("monday")
  })

  test("a wrong passphrase, none, or --encrypt where nothing is encrypted: an error before anything is written", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    await machine.hook("stop", machine.session().turn("Add retries").flush())
    const target = join(folder.path, "target")
    expect(await cli(machine, "sync", "--to", target, "--encrypt")).toMatchObject({
      code: 64,
      stdout: "",
      stderr: expect.stringContaining("--encrypt needs a passphrase"),
    })
    expect(existsSync(target)).toBe(false)
    const withPassphrase = (text: string, ...args: string[]) =>
      run(["sync", ...args], {
        env: { ...machine.env, CTXBRIDGE_SYNC_PASSPHRASE: text },
        cwd: machine.cwd,
      })
    expect(await withPassphrase("short", "--to", target, "--encrypt")).toMatchObject({ code: 64, stdout: "" })
    expect(await withPassphrase(PASSPHRASE, "--to", target, "--encrypt")).toMatchObject({
      code: 0,
      stderr: "",
    })
    const before = everything(target)
    expect(await withPassphrase("correct horse battery stable", "--to", target)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `ctxbridge: wrong passphrase for ${target}\nhint: nothing was written\n`,
    })
    expect(await cli(machine, "sync", "--to", target)).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining(`${target} is encrypted\nhint: set CTXBRIDGE_SYNC_PASSPHRASE`),
    })
    expect(everything(target)).toBe(before)
    const plain = join(folder.path, "plain")
    await synced(machine, "--to", plain)
    expect(await withPassphrase(PASSPHRASE, "--to", plain, "--encrypt")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("is not encrypted"),
    })
    expect(await withPassphrase(PASSPHRASE, "--to", "sqlite:x.db", "--encrypt")).toMatchObject({
      code: 64,
    })
  })
})
