/**
 * Whoever can write to an encrypted folder can replace what is in it. Nothing of theirs is taken for the user's, nothing is
 * written where they could read it, and each command says what is wrong.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { type Entry, entryOf } from "../../src/sync/targets/entry.ts"
import { openFolderTarget } from "../../src/sync/targets/folder-target.ts"
import { sealedFoldersFile } from "../../src/sync/targets/seal.ts"
import { type Ran, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(300_000))

const OWN = "six plain words for a test"
const THEIRS = "what somebody else has chosen"
const FORGED = "forgedanswer"
const SAID = "why does the zebra parser fail"

const forged: Entry = entryOf({
  summary: `zebra ${FORGED}`,
  content: `zebra parser ${FORGED}`,
  metadata: {
    ...{ sessionId: "f0f0f0f0-0000-4000-8000-000000000001", chunkIndex: 1, messages: 1, takenBack: false },
    ...{ timestamp: "2026-01-02T03:04:05.000Z", ended: null, project: "/x/project", machine: "theirs" },
    ...{ toolNames: [], filePaths: [] },
  },
})

/** Every name and byte below a folder, and where a link leads. */
function everything(root: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const one of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(one.parentPath, one.name)
    if (one.isFile()) found[path] = readFileSync(path, "latin1")
    if (one.isSymbolicLink()) found[path] = readlinkSync(path)
  }
  return found
}

/** What somebody does to the folder `cloud` in `root`. */
interface Attack {
  readonly does: string
  readonly act: (root: string, pristine: string) => Promise<void> | void
  /** Codes and words, by what the machine knows: what it has seen, and the passphrase. */
  readonly told: Readonly<Record<"seen, open" | "seen" | "open" | "nothing", RegExp | undefined>>
}

const CHANGED = /was encrypted, and its ctxbridge\.json says now that it is not/
const OTHER_KEY = /has another key than when it was last seen here/
const GONE = /was encrypted, and its ctxbridge\.json is missing now/
const PLAIN = /is not encrypted, and a passphrase is set/
const HALF = /holds encrypted entries, and its ctxbridge\.json says that it is not/
const NO_MARKER = /holds entries, but no ctxbridge\.json/
const NO_MARKER_SEALED = /holds encrypted entries, but no ctxbridge\.json/
const WRONG = /wrong passphrase for/
const LOCKED = /is encrypted$/m
const DAMAGED = /ctxbridge\.json is not one of ours, or damaged/

const cloudIn = (root: string): string => join(root, "cloud")
const markerIn = (root: string): string => join(cloudIn(root), "ctxbridge.json")
const marker = (root: string): { id: string; encryption: object } =>
  JSON.parse(readFileSync(markerIn(root), "utf8"))
const plant = (root: string): void =>
  writeFileSync(join(cloudIn(root), "entries", "theirs.1.jsonl"), `${JSON.stringify(forged)}\n`)

const write = (root: string, value: object): void =>
  writeFileSync(markerIn(root), `${JSON.stringify(value)}\n`)

const ATTACKS: readonly Attack[] = [
  {
    does: "a plain description of the same id, and plain entries",
    act(root) {
      write(root, { format: 1, id: marker(root).id })
      plant(root)
    },
    told: { "seen, open": CHANGED, seen: CHANGED, open: PLAIN, nothing: HALF },
  },
  {
    does: "a plain description of another id",
    act(root) {
      write(root, { format: 1, id: crypto.randomUUID() })
      plant(root)
    },
    told: { "seen, open": CHANGED, seen: CHANGED, open: PLAIN, nothing: HALF },
  },
  {
    does: "no description",
    act: (root) => rmSync(markerIn(root)),
    told: { "seen, open": GONE, seen: GONE, open: NO_MARKER, nothing: NO_MARKER_SEALED },
  },
  {
    does: "no description, and plain entries that come first",
    act(root) {
      rmSync(markerIn(root))
      writeFileSync(join(cloudIn(root), "entries", "a.1.jsonl"), `${JSON.stringify(forged)}\n`)
    },
    told: { "seen, open": GONE, seen: GONE, open: NO_MARKER, nothing: NO_MARKER_SEALED },
  },
  {
    does: "the same id with a key of theirs",
    async act(root) {
      const { id } = marker(root)
      await openFolderTarget(join(root, "theirs"), "theirs", THEIRS).put([forged])
      const { encryption } = JSON.parse(readFileSync(join(root, "theirs", "ctxbridge.json"), "utf8"))
      write(root, { format: 2, id, encryption })
    },
    told: { "seen, open": OTHER_KEY, seen: OTHER_KEY, open: WRONG, nothing: LOCKED },
  },
  {
    does: "an encrypted folder of theirs",
    async act(root) {
      rmSync(cloudIn(root), { recursive: true })
      await openFolderTarget(cloudIn(root), "theirs", THEIRS).put([forged])
    },
    told: { "seen, open": OTHER_KEY, seen: OTHER_KEY, open: WRONG, nothing: LOCKED },
  },
  {
    does: "a link to a plain folder of theirs",
    async act(root) {
      renameSync(cloudIn(root), join(root, "away"))
      await openFolderTarget(join(root, "theirs"), "theirs").put([forged])
      symlinkSync(join(root, "theirs"), cloudIn(root))
    },
    told: { "seen, open": CHANGED, seen: CHANGED, open: PLAIN, nothing: undefined },
  },
  {
    does: "an empty folder",
    act(root) {
      rmSync(cloudIn(root), { recursive: true })
      mkdirSync(cloudIn(root))
    },
    told: { "seen, open": GONE, seen: GONE, open: undefined, nothing: undefined },
  },
  {
    does: "figures that no key is made with",
    act(root) {
      const { id, encryption } = marker(root)
      write(root, { format: 2, id, encryption: { ...encryption, n: (1 << 17) + 1 } })
    },
    told: { "seen, open": DAMAGED, seen: DAMAGED, open: DAMAGED, nothing: DAMAGED },
  },
]

describe("what somebody puts in the place of an encrypted folder", () => {
  const folder = tempFolder()
  const machine = new Machine()
  const root = join(folder.path, "root")
  const pristine = join(folder.path, "pristine")
  const memory = sealedFoldersFile(join(machine.dataHome, "state"))
  let remembered = ""
  const target = cloudIn(root)

  const cli = (isOpen: boolean, ...args: string[]): Promise<Ran> =>
    run(args, {
      env: {
        ...machine.env,
        CTXBRIDGE_SYNC_TO: target,
        ...(isOpen && { CTXBRIDGE_SYNC_PASSPHRASE: OWN }),
      },
      cwd: machine.cwd,
    })

  beforeAll(async () => {
    mkdirSync(root)
    await machine.hook("stop", machine.session().turn(SAID).flush())
    expect(await cli(true, "sync", "--encrypt", "--frames")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Sent 1 turn to ${target} (new folder, encrypted)\n`),
      stderr: "",
    })
    remembered = readFileSync(memory, "utf8")
    // What comes later would be sent.
    await machine.hook("stop", machine.session().turn(`${SAID} again`).flush())
    cpSync(root, pristine, { recursive: true })
  })

  afterAll(() => {
    machine[Symbol.dispose]()
    folder[Symbol.dispose]()
  })

  /** @param isSeen whether this machine has seen it encrypted */
  async function attacked(attack: Attack, isSeen: boolean): Promise<() => void> {
    rmSync(root, { recursive: true, force: true })
    cpSync(pristine, root, { recursive: true })
    await attack.act(root, pristine)
    const before = everything(root)
    const reset = (): void => (isSeen ? writeFileSync(memory, remembered) : rmSync(memory, { force: true }))
    reset()
    return () => {
      expect(everything(root)).toEqual(before)
      reset()
    }
  }

  const DOORS: readonly (readonly string[])[] = [
    ["sync"],
    ["sync", "--frames"],
    ["sync", "--pull"],
    ["sync", "--pull", "--frames"],
    ["sync", "--all"],
    ["sync", "--watch"],
    ["search", "--backend", target, "zebra"],
    ["show", `far:${forged.id.slice(0, 16)}`],
  ]
  /** Of a machine that has not seen the folder. */
  const SOME = [0, 2, 6]

  for (const attack of ATTACKS) {
    for (const [knows, wanted] of Object.entries(attack.told)) {
      if (wanted === undefined) continue
      const [isSeen, isOpen] = [knows.includes("seen"), knows.includes("open")]
      test(`${attack.does}; known: ${knows}`, async () => {
        const isUntouched = await attacked(attack, isSeen)
        for (const args of isSeen ? DOORS : SOME.map((n) => DOORS[n]!)) {
          // What may still arrive is waited for.
          if (args.includes("--watch") && wanted === GONE) continue
          const { code, stdout, stderr } = await cli(isOpen, ...args)
          expect({ args, code, stdout, stderr }).toEqual({
            ...{ args, code: 1, stdout: "" },
            stderr: expect.stringMatching(new RegExp(`^ctxbridge: .*${wanted.source}[^]*\nhint: `, "m")),
          })
          isUntouched()
        }
        const both = await cli(isOpen, "search", "--everywhere", "zebra")
        expect({ code: both.code, stderr: both.stderr }).toEqual({
          code: 0,
          stderr: expect.stringMatching(new RegExp(`^warning: .*${wanted.source}`, "m")),
        })
        expect(both.stdout).toContain("zebra")
        expect(both.stdout).not.toContain(FORGED)
        isUntouched()
      })
    }

    test(`${attack.does}: through the server, and in the background`, async () => {
      const isUntouched = await attacked(attack, true)
      const wanted = attack.told["seen, open"]!
      const env = { ...machine.env, CTXBRIDGE_SYNC_TO: target, CTXBRIDGE_SYNC_PASSPHRASE: OWN }
      await using peer = await Peer.connect(machine.cwd, env)
      const { isError, text } = await peer.call("search", { query: "zebra parser", everywhere: true })
      expect(isError).toBe(false)
      expect(text).toMatch(new RegExp(`Not searched elsewhere: .*${wanted.source}`))
      expect(text).not.toContain(FORGED)
      const got = await peer.call("get", { handle: `far:${forged.id.slice(0, 16)}` })
      expect(got).toMatchObject({ isError: true, text: expect.stringMatching(wanted) })
      isUntouched()
      const config = join(machine.root, "auto.toml")
      writeFileSync(config, `[sync]\nauto = "frames"\n`)
      rmSync(join(machine.dataHome, "sync", "auto.json"), { force: true })
      const auto = { ...env, CTXBRIDGE_CONFIG: config }
      expect(await run(["__job"], { env: auto, cwd: machine.cwd })).toMatchObject({ code: 0, stdout: "" })
      isUntouched()
      const status = await run(["status", "--json"], { env: auto, cwd: machine.cwd })
      const { syncFailure } = JSON.parse(status.stdout)
      expect(syncFailure).toMatchObject({ target, message: expect.stringMatching(wanted) })
      const doctor = await run(["doctor", "--json"], { env: auto, cwd: machine.cwd })
      const { findings } = JSON.parse(doctor.stdout)
      expect(findings.filter(({ check }: { check: string }) => check === "sync")).toMatchObject([
        { state: wanted === GONE ? "warn" : "fail", text: expect.stringMatching(wanted) },
      ])
      rmSync(config)
    })
  }

  test("plain lines among the encrypted ones are nobody's, and are counted", async () => {
    const attack: Attack = { does: "", told: ATTACKS[0]!.told, act: plant }
    await attacked(attack, true)
    const file = join(
      target,
      "entries",
      readdirSync(join(target, "entries")).find((name) => name !== "theirs.1.jsonl")!,
    )
    writeFileSync(file, `${readFileSync(file, "utf8")}${JSON.stringify(forged)}\n`)
    mkdirSync(join(target, "forgotten"), { recursive: true })
    writeFileSync(
      join(target, "forgotten", "theirs.jsonl"),
      `${JSON.stringify({ session: "5e551011-0000-4000-8000-000000000001" })}\n`,
    )
    const found = await cli(true, "search", "--backend", target, "zebra", "--json")
    expect({ code: found.code, stderr: found.stderr }).toEqual({ code: 0, stderr: "" })
    expect(found.stdout).not.toContain(FORGED)
    const sent = await cli(true, "sync", "--json")
    expect({ code: sent.code, stderr: sent.stderr }).toEqual({ code: 0, stderr: "" })
    expect(JSON.parse(sent.stdout)).toMatchObject({
      ...{ stored: 1, there: { entries: 2, damaged: 1 } },
      // Out of its own file, the machine takes such a line.
      mendedIn: [{ lines: 1 }],
    })
    const text = Object.values(everything(join(target, "entries"))).join("\n")
    expect(text).not.toContain("why does")
  })
})

describe("a new key", () => {
  const cli = (machine: Machine, ...args: string[]): Promise<Ran> =>
    run(args, { env: { ...machine.env, CTXBRIDGE_SYNC_PASSPHRASE: OWN }, cwd: machine.cwd })

  const said = async (machine: Machine, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await cli(machine, ...args)
    expect({ args, code, stdout, stderr }).toEqual({ args, code: 0, stdout, stderr: "" })
    return stdout
  }

  test("for a folder that was plain, whose description is lost, or that has another passphrase; other machines follow", async () => {
    using folder = tempFolder()
    using one = new Machine()
    using other = new Machine()
    const target = join(folder.path, "cloud")
    for (const [n, machine] of [one, other].entries())
      await machine.hook(
        "stop",
        machine
          .session({ id: `5e551011-0000-4000-8000-00000000010${n}` })
          .turn(`${SAID} ${n}`)
          .flush(),
      )
    const { code, stdout } = await run(["sync", "--to", target, "--frames"], { env: one.env, cwd: one.cwd })
    expect({ code, first: stdout.split("\n")[0] }).toEqual({
      code: 0,
      first: `Sent 1 turn to ${target} (new folder, unencrypted: whoever can read it can read the turns)`,
    })
    // Without a passphrase there is none to make.
    expect(await run(["sync", "--to", target, "--new-key"], { env: one.env, cwd: one.cwd })).toMatchObject({
      code: 64,
      stdout: "",
      stderr: expect.stringContaining("--new-key needs a passphrase"),
    })
    expect(await cli(one, "sync", "--to", "sqlite:/x", "--new-key")).toMatchObject({ code: 64, stdout: "" })

    const lost: readonly (readonly [string, () => void])[] = [
      ["plain", () => {}],
      ["no description", () => rmSync(join(target, "ctxbridge.json"))],
      ["damaged", () => writeFileSync(join(target, "ctxbridge.json"), "{")],
      [
        "of another key",
        () => {
          openFolderTarget(join(folder.path, "theirs"), "theirs", THEIRS)
          cpSync(join(folder.path, "theirs", "ctxbridge.json"), join(target, "ctxbridge.json"))
        },
      ],
    ]
    for (const [what, lose] of lost) {
      lose()
      const before = everything(target)
      expect({ what, code: (await cli(one, "sync", "--to", target, "--frames")).code }).toEqual({
        what,
        code: 1,
      })
      expect(everything(target)).toEqual(before)
      const told = await said(one, "sync", "--to", target, "--frames", "--new-key")
      expect(told).toStartWith(`New key for ${target}: everything is sent again\n`)
      expect(told).toContain(`Sent 1 turn to ${target}\n`)
      const text = Object.values(everything(target)).join("\n")
      expect({ what, isPlain: text.includes("zebra") || text.includes('"frame"') }).toEqual({
        what,
        isPlain: false,
      })
      expect(await said(one, "sync", "--to", target, "--frames", "--new-key")).toStartWith(
        `${target} has the key of your passphrase already\nNothing new for`,
      )
      // A machine that knew another key asks before it goes on.
      if (what === "plain") await said(other, "sync", "--to", target, "--frames")
      else {
        expect(await cli(other, "sync", "--to", target, "--frames", "--pull")).toMatchObject({
          code: 1,
          stdout: "",
          stderr: expect.stringMatching(OTHER_KEY),
        })
        expect(await said(other, "sync", "--to", target, "--frames", "--new-key")).toStartWith("New key for")
      }
      const report = JSON.parse(await said(other, "sync", "--to", target, "--pull", "--json"))
      expect({ what, ...report }).toMatchObject({
        what,
        fetched: { damaged: 0, misnamed: 0 },
        there: { entries: 2, damaged: 0 },
        folder: { encrypted: true, made: null },
      })
    }
  })

  test("--pull alone makes nothing: what was sent there may be on its way", async () => {
    using folder = tempFolder()
    using machine = new Machine()
    const target = join(folder.path, "cloud")
    mkdirSync(target)
    for (const env of [machine.env, { ...machine.env, CTXBRIDGE_SYNC_PASSPHRASE: OWN }])
      expect(await run(["sync", "--pull", "--to", target], { env, cwd: machine.cwd })).toMatchObject({
        code: 3,
        stdout: "",
        stderr: expect.stringContaining(`no machine has sent frames to ${target}`),
      })
    expect(readdirSync(target)).toEqual([])
    expect(existsSync(sealedFoldersFile(join(machine.dataHome, "state")))).toBe(false)
  })
})
