/** Entries and frames in a folder: nobody loses anything, whoever is killed, and what is forgotten leaves the files. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { basename, join, resolve } from "node:path"
import { openFolderTarget } from "../../../src/sync/targets/folder-target.ts"
import { CONFLICTED, conflicted } from "../../support/conflicted.ts"
import { openFolderFrames } from "../../support/frames-of.ts"
import { tempFolder } from "../../support/temp.ts"
import { draft, piece, targetContract } from "./contract.ts"

setDefaultTimeout(60_000)

const PASSPHRASE = "correct horse battery staple"

for (const [name, passphrase] of [
  ["folder", undefined],
  ["encrypted folder", PASSPHRASE],
] as const) {
  const target = async () => {
    const folder = tempFolder()
    const root = join(folder.path, "target")
    return {
      open: async (machine: string) => openFolderTarget(root, machine, passphrase),
      read: async () => openFolderTarget(root, "", passphrase, true),
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    }
  }
  targetContract(name, target, { frames: true })
}

const APPENDER = resolve(import.meta.dir, "../../support/append-entries.ts")
const appender = (root: string, writer: string, most: number) =>
  Bun.spawn([process.execPath, APPENDER, root, writer, String(most)], { stdout: "pipe", stderr: "pipe" })

/** Whatever is written anywhere below the folder. */
const everything = (root: string): string =>
  (readdirSync(root, { recursive: true, withFileTypes: true }) ?? [])
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n")

test("ten writers at once: 300 of 300", async () => {
  using folder = tempFolder()
  const writers = Array.from({ length: 10 }, (_, n) => appender(folder.path, `machine-${n}`, 30))
  const ended = await Promise.all(
    writers.map(async (one) => [await one.exited, await new Response(one.stderr).text()]),
  )
  expect(ended).toEqual(writers.map(() => [0, ""]))
  const backend = openFolderTarget(folder.path, "reader")
  expect(await backend.stats()).toEqual({ entries: 300, sessions: 10, forgotten: 0, damaged: 0 })
  expect(readdirSync(join(folder.path, "entries"))).toHaveLength(10)
})

test("a writer killed while it appends has everything that it was told is safe", async () => {
  using folder = tempFolder()
  const child = appender(folder.path, "machine", 100_000)
  let told = ""
  for await (const chunk of child.stdout) {
    told += new TextDecoder().decode(chunk)
    if (told.split("\n").length > 20) break
  }
  child.kill(9)
  await child.exited
  const safe = told.split("\n").slice(0, -1).length
  const backend = openFolderTarget(folder.path, "machine")
  const { entries, damaged } = await backend.stats()
  expect(damaged).toBe(0)
  expect(entries).toBeGreaterThanOrEqual(safe)
  expect(await backend.put([draft({ sessionId: "machine", chunkIndex: 999_999 })])).toMatchObject({
    stored: 1,
  })
  expect((await backend.stats()).entries).toBe(entries + 1)
})

test("half a line is dropped, and written again", async () => {
  using folder = tempFolder()
  const [first, second, third] = [draft({}), draft({}), draft({})]
  await openFolderTarget(folder.path, "machine").put([first, second])
  const file = join(folder.path, "entries", "machine.1.jsonl")
  truncateSync(file, statSync(file).size - 20)
  const backend = openFolderTarget(folder.path, "machine")
  expect(await backend.get(second.id)).toBeUndefined()
  expect(await backend.put([first, second, third])).toEqual({ stored: 2, known: 1, refused: 0 })
  expect(await backend.stats()).toMatchObject({ entries: 3, damaged: 0 })
  expect(
    readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([first, second, third])
})

test("a damaged line costs only itself, and is counted", async () => {
  using folder = tempFolder()
  const kept = draft({})
  const backend = openFolderTarget(folder.path, "machine")
  await backend.put([kept])
  const forged = { ...draft({ content: "as it was" }), content: "as it was not" }
  const file = join(folder.path, "entries", "machine.1.jsonl")
  appendFileSync(file, `not json\n{"id":"x"}\nnull\n${JSON.stringify(forged)}\n`)
  expect(await backend.stats()).toMatchObject({ entries: 1, damaged: 4 })
  expect(await backend.get(kept.id)).toEqual(kept)
})

test("each writer writes only its own files, private ones", async () => {
  using folder = tempFolder()
  const root = join(folder.path, "target")
  const [one, other] = ["one", "other"].map((name) => openFolderTarget(root, name))
  await one!.put([draft({})])
  const before = readFileSync(join(root, "entries/one.1.jsonl"))
  await other!.put([draft({})])
  await other!.forget({ sessions: ["gone"] })
  expect(readFileSync(join(root, "entries/one.1.jsonl")).equals(before)).toBe(true)
  const names = (readdirSync(root, { recursive: true }) as string[]).sort()
  expect(names).toEqual([
    "ctxbridge.json",
    "entries",
    "entries/one.1.jsonl",
    "entries/other.1.jsonl",
    "forgotten",
    "forgotten/other.jsonl",
  ])
  for (const name of ["", ...names]) {
    const stats = statSync(join(root, name))
    expect({ name, mode: stats.mode & 0o777 }).toEqual({ name, mode: stats.isDirectory() ? 0o700 : 0o600 })
  }
})

test("forgotten text leaves our files at once, and those of another machine at its next turn", async () => {
  using folder = tempFolder()
  const secret = draft({ content: "the launch code is swordfish" })
  const kept = draft({})
  const one = openFolderTarget(folder.path, "one")
  await one.put([secret, kept])
  await openFolderTarget(folder.path, "other").put([secret])
  // What a process killed in the middle of this leaves.
  writeFileSync(join(folder.path, "entries/.one.1.jsonl.new"), "swordfish")
  await one.forget({ ids: [secret.id] })
  expect(readFileSync(join(folder.path, "entries/one.1.jsonl"), "utf8")).not.toContain("swordfish")
  expect(everything(folder.path)).toContain("swordfish")
  const other = openFolderTarget(folder.path, "other")
  await other.put([])
  expect(everything(folder.path)).not.toContain("swordfish")
  expect(idsOfAll(await other.find({ words: "", limit: 9 }))).toEqual([kept.id])
})

const idsOfAll = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id)

test("a version that has a later one leaves the files when the backend is closed, or is next opened", async () => {
  using folder = tempFolder()
  const first = draft({ content: "version 1", messages: 1 })
  const { chunkIndex } = first.metadata
  const version = (messages: number) => draft({ content: `version ${messages}`, messages, chunkIndex })
  const backend = openFolderTarget(folder.path, "machine")
  await backend.put([first, draft({}), draft({}), draft({})])
  await backend.put([version(2)])
  await backend.close()
  expect(everything(folder.path)).not.toContain("version 1")
  // This one is killed before it closes.
  await openFolderTarget(folder.path, "machine").put([version(3)])
  expect(everything(folder.path)).toContain("version 2")
  await openFolderTarget(folder.path, "machine").put([])
  expect(everything(folder.path)).not.toContain("version 2")
  expect(everything(folder.path)).toContain("version 3")
  expect((await backend.stats()).entries).toBe(4)
})

test("a large file is followed by another one", async () => {
  using folder = tempFolder()
  const backend = openFolderTarget(folder.path, "machine")
  for (let n = 0; n < 3; n++) await backend.put([draft({ content: `${n} ${"x".repeat(9 << 20)}` })])
  expect(readdirSync(join(folder.path, "entries")).sort()).toEqual([
    "machine.1.jsonl",
    "machine.2.jsonl",
    "machine.3.jsonl",
  ])
  expect((await openFolderTarget(folder.path, "machine").stats()).entries).toBe(3)
})

const codeOfOpening = (root: string): unknown => {
  try {
    openFolderTarget(root, "machine")
    return "opened"
  } catch (error) {
    return (error as { code?: unknown }).code
  }
}

test("a folder that cannot be used says why", () => {
  using folder = tempFolder()
  const at = (name: string): string => join(folder.path, name)
  expect(codeOfOpening(at("missing/target"))).toBe("target-missing")
  expect(existsSync(at("missing"))).toBe(false)
  writeFileSync(at("file"), "")
  expect(codeOfOpening(at("file"))).toBe("target-missing")
  mkdirSync(at("newer"))
  writeFileSync(at("newer/ctxbridge.json"), '{"format":3,"id":"x"}')
  expect(codeOfOpening(at("newer"))).toBe("target-newer")
  mkdirSync(at("damaged"))
  writeFileSync(at("damaged/ctxbridge.json"), "{")
  expect(codeOfOpening(at("damaged"))).toBe("target-damaged")
  expect(readdirSync(at("damaged"))).toEqual(["ctxbridge.json"])
})

test.skipIf(process.getuid?.() === 0)("a read-only folder says so", async () => {
  using folder = tempFolder()
  mkdirSync(join(folder.path, "target"))
  chmodSync(join(folder.path, "target"), 0o500)
  expect(codeOfOpening(join(folder.path, "target"))).toBe("target-unwritable")
  chmodSync(join(folder.path, "target"), 0o700)
})

describe("what a cloud drive has made of another machine's files", () => {
  for (const passphrase of [undefined, PASSPHRASE]) {
    const how = passphrase === undefined ? "" : ", encrypted"
    for (const pattern of [...CONFLICTED, "CAPITALS"]) {
      // Elsewhere, the two names may be one.
      const isHere = pattern !== "CAPITALS" || process.platform === "linux"
      test.skipIf(!isHere)(
        `${pattern}${how}: read once, whether the file is there, too, or not`,
        async () => {
          using folder = tempFolder()
          const root = join(folder.path, "target")
          const entries = [draft({ content: "about the owl" }), draft({ content: "about the heron" })]
          const pieces = [
            piece("owl\n", { writer: "host-1a2b3c4d" }),
            piece("heron\n", { writer: "host-1a2b3c4d", copy: "b" }),
          ]
          const one = openFolderTarget(root, "host-1a2b3c4d", passphrase)
          await one.put(entries)
          await one.forget({ sessions: ["gone"] })
          await openFolderFrames(root, "host-1a2b3c4d", passphrase).put(pieces)
          const other = openFolderTarget(root, "other", passphrase)
          const frames = openFolderFrames(root, "other", passphrase)
          const looksAlike = async (): Promise<void> => {
            expect(await other.stats()).toEqual({ entries: 2, sessions: 1, forgotten: 1, damaged: 0 })
            expect((await other.find({ words: "about", limit: 9 })).map(({ id }) => id).sort()).toEqual(
              entries.map(({ id }) => id).sort(),
            )
            const listed = await frames.list()
            expect(listed).toHaveLength(2)
            expect(await frames.get(listed)).toEqual(pieces.toSorted((a, b) => (a.copy < b.copy ? -1 : 1)))
            expect(frames.damagedIn?.()).toEqual([])
          }
          await looksAlike()
          const files = ["entries", "frames", "forgotten"].flatMap((name) =>
            readdirSync(join(root, name)).map((file) => join(root, name, file)),
          )
          expect(files).toHaveLength(3)
          for (const file of files) {
            const capitals = join(file, "..", basename(file).toUpperCase())
            copyFileSync(file, pattern === "CAPITALS" ? capitals : conflicted(file, pattern))
          }
          await looksAlike()
          for (const file of files) rmSync(file)
          await looksAlike()
        },
      )
    }
  }
})

test("what was sent under a former name of the computer is not missing", async () => {
  using folder = tempFolder()
  const entry = draft({ content: "about the owl" })
  await openFolderTarget(folder.path, "former-1a2b3c4d").put([entry])
  const sent = { id: entry.id, key: entry.key, session: entry.metadata.sessionId, messages: 2 }
  const backend = openFolderTarget(folder.path, "new-1a2b3c4d")
  expect(await backend.lacking([sent, { ...sent, messages: 3 }])).toEqual([{ ...sent, messages: 3 }])
})
