import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { createCipheriv, randomBytes, scryptSync } from "node:crypto"
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { openFolderTarget } from "../../../src/sync/targets/folder-target.ts"
import { SealedFolders } from "../../../src/sync/targets/seal.ts"
import { BLOCK, bomb } from "../../support/bomb.ts"
import { openFolderFrames } from "../../support/frames-of.ts"
import { tempFolder } from "../../support/temp.ts"
import { draft, piece } from "./contract.ts"

/** An encrypted folder: nothing of what is said can be read there, and no line can be changed or moved. */
describe("encrypted folder", () => {
  setDefaultTimeout(60_000)

  const PASSPHRASE = "correct horse battery staple"

  const filesIn = (root: string): string[] =>
    (readdirSync(root, { recursive: true, withFileTypes: true }) ?? [])
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name))
      .sort()

  const everything = (root: string): string =>
    filesIn(root)
      .map((file) => `${file}\n${readFileSync(file, "latin1")}`)
      .join("\n")

  const codeOf = (open: () => unknown): unknown => {
    try {
      open()
      return "opened"
    } catch (error) {
      return (error as { code?: unknown }).code
    }
  }

  test("no word, name of a session or of a file of the project is in its files, nor in their names", async () => {
    using folder = tempFolder()
    const backend = openFolderTarget(folder.path, "one", PASSPHRASE)
    await backend.put([
      draft({ content: "the launch is on monday", sessionId: "5e551011-aa", filePaths: ["/src/rocket.ts"] }),
    ])
    await backend.forget({ sessions: ["5e551011-gone"], ids: ["0".repeat(64)] })
    await openFolderFrames(folder.path, "one", PASSPHRASE).put([
      piece("the launch again\n", { session: "5e551011-aa" }),
    ])
    const text = everything(folder.path)
    for (const word of ["launch", "monday", "5e551011", "rocket", "000000", "/src", "sessionId", 'frame"'])
      expect({ word, is: text.includes(word) }).toEqual({ word, is: false })
    // Nor unpacked.
    for (const file of filesIn(folder.path).filter((name) => name.endsWith(".jsonl")))
      for (const line of readFileSync(file, "utf8").trimEnd().split("\n"))
        expect(() => Bun.zstdDecompressSync(Buffer.from(line, "base64").subarray(12))).toThrow()
  })

  test("the wrong passphrase, none, or one where nothing is encrypted: an error, and nothing is written", async () => {
    using folder = tempFolder()
    const root = join(folder.path, "encrypted")
    await openFolderTarget(root, "one", PASSPHRASE).put([draft({})])
    const before = everything(root)
    for (const wrong of ["correct horse battery stable", "", undefined]) {
      expect(codeOf(() => openFolderTarget(root, "two", wrong))).toBe("target-locked")
      expect(codeOf(() => openFolderFrames(root, "two", wrong))).toBe("target-locked")
    }
    expect(everything(root)).toBe(before)
    const plain = join(folder.path, "plain")
    await openFolderTarget(plain, "one").put([draft({})])
    const was = everything(plain)
    expect(codeOf(() => openFolderTarget(plain, "one", PASSPHRASE))).toBe("target-plain")
    expect(everything(plain)).toBe(was)
    // Versions that know nothing of it take it for a newer folder.
    expect(JSON.parse(readFileSync(join(root, "ctxbridge.json"), "utf8"))).toMatchObject({ format: 2 })
  })

  test("a description that would take all memory, or says nothing of the key, is damaged", () => {
    using folder = tempFolder()
    openFolderTarget(folder.path, "one", PASSPHRASE)
    const marker = join(folder.path, "ctxbridge.json")
    const { encryption, ...rest } = JSON.parse(readFileSync(marker, "utf8"))
    const cost = (n: unknown, r: unknown = 8, p: unknown = 1) => ({ ...encryption, n, r, p })
    for (const broken of [
      // Too much, too little, no power of two, no number.
      ...[1 << 30, 1 << 21, 0, 1, 2, -1, 512, (1 << 17) + 1, 3.5, "131072", null, Number.NaN, 2 ** 53].map(
        (n) => cost(n),
      ),
      ...[0, -1, 33, 1 << 20, 1.5, "8", null].map((r) => cost(1 << 17, r)),
      ...[0, -1, 17, 1 << 30, 1.5, "1", null].map((p) => cost(1 << 17, 8, p)),
      // Each of them small, and all together not; and what scrypt does not take.
      ...[cost(1 << 20, 32), cost(1 << 20, 8, 16), cost(1 << 17, 32, 16), cost(1 << 16, 1), cost(1 << 20, 1)],
      ...["", "!", "AAAA", "x".repeat(5000), 7, null, undefined].flatMap((text) => [
        { ...encryption, salt: text },
        { ...encryption, check: text },
      ]),
      { ...encryption, kdf: "none" },
      { ...encryption, kdf: "argon2id" },
      [],
      7,
      null,
      {},
    ]) {
      writeFileSync(marker, JSON.stringify({ ...rest, encryption: broken }))
      for (const isReader of [false, true]) {
        const code = codeOf(() => openFolderTarget(folder.path, "one", PASSPHRASE, isReader))
        expect({ broken, isReader, code }).toEqual({ broken, isReader, code: "target-damaged" })
      }
    }
    for (const id of ["", "-x", "a b", "../x", 7, null]) {
      writeFileSync(marker, JSON.stringify({ ...rest, id, encryption }))
      expect({ id, code: codeOf(() => openFolderTarget(folder.path, "one", PASSPHRASE)) }).toEqual({
        id,
        code: "target-damaged",
      })
    }
    for (const text of ["", "{", "null", "[]", " ".repeat(1 << 17)]) {
      writeFileSync(marker, text)
      expect(codeOf(() => openFolderTarget(folder.path, "one", PASSPHRASE))).toBe("target-damaged")
    }
    // What is encrypted must not become plain by taking the description away.
    writeFileSync(marker, JSON.stringify(rest))
    expect(codeOf(() => openFolderTarget(folder.path, "one"))).toBe("target-damaged")
    expect(codeOf(() => openFolderTarget(folder.path, "one", PASSPHRASE))).toBe("target-damaged")
  })

  test("lines that were changed, moved, swapped, or come from another file are refused and counted", async () => {
    using folder = tempFolder()
    const entries = [draft({ content: "a" }), draft({ content: "b" }), draft({ content: "c" })]
    await openFolderTarget(folder.path, "one", PASSPHRASE).put(entries)
    const file = join(folder.path, "entries", "one.1.jsonl")
    const whole = readFileSync(file, "utf8")
    const [a, b, c] = whole.trimEnd().split("\n") as [string, string, string]
    const flipped = `${a.slice(0, 30)}${a[30] === "A" ? "B" : "A"}${a.slice(31)}`
    const stats = async (name: string, lines: readonly string[]) => {
      writeFileSync(join(folder.path, "entries", name), lines.map((line) => `${line}\n`).join(""))
      const { entries: count, damaged } = await openFolderTarget(folder.path, "reader", PASSPHRASE).stats()
      return [count, damaged]
    }
    expect(await stats("one.1.jsonl", [flipped, b, c])).toEqual([2, 1])
    expect(await stats("one.1.jsonl", [b, a, c])).toEqual([1, 2])
    expect(await stats("one.1.jsonl", [b, c])).toEqual([0, 2])
    expect(await stats("one.1.jsonl", [a, a, b, c])).toEqual([1, 3])
    expect(await stats("one.1.jsonl", [a, b, c, "not sealed at all", ""])).toEqual([3, 2])
    await stats("one.1.jsonl", [a, b, c])
    expect(await stats("two.1.jsonl", [a])).toEqual([3, 1])
    // And from another folder with the same passphrase.
    using other = tempFolder()
    await openFolderTarget(other.path, "one", PASSPHRASE).put(entries)
    expect(
      await stats(
        "one.1.jsonl",
        readFileSync(join(other.path, "entries/one.1.jsonl"), "utf8").trimEnd().split("\n"),
      ),
    ).toEqual([0, 4])
  })

  test("half a line is dropped and put again; what is forgotten leaves the file, and the rest can be read", async () => {
    using folder = tempFolder()
    const [first, second, third] = [draft({}), draft({}), draft({})]
    await openFolderTarget(folder.path, "one", PASSPHRASE).put([first, second])
    const file = join(folder.path, "entries", "one.1.jsonl")
    truncateSync(file, statSync(file).size - 20)
    const backend = openFolderTarget(folder.path, "one", PASSPHRASE)
    expect(await backend.put([first, second, third])).toEqual({ stored: 2, known: 1, refused: 0 })
    await backend.forget({ ids: [first.id] })
    const reader = openFolderTarget(folder.path, "reader", PASSPHRASE)
    expect(await reader.get(second.id)).toEqual(second)
    expect(await reader.get(third.id)).toEqual(third)
    expect(await reader.stats()).toMatchObject({ entries: 2, damaged: 0 })
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(2)
  })

  test("a line that somebody with the passphrase has made is not unpacked into all memory", async () => {
    using folder = tempFolder()
    const entry = draft({ content: "a" })
    await openFolderTarget(folder.path, "one", PASSPHRASE).put([entry])
    const { id, encryption } = JSON.parse(readFileSync(join(folder.path, "ctxbridge.json"), "utf8"))
    const { n, r, p, salt } = encryption
    const key = scryptSync(PASSPHRASE, Buffer.from(salt, "base64"), 32, { N: n, r, p, maxmem: 256 * n * r })
    const sealed = (plain: Uint8Array, number: number): string => {
      const iv = randomBytes(12)
      const cipher = createCipheriv("aes-256-gcm", key, iv)
      cipher.setAAD(Buffer.from(`${id}/entries/two.1.jsonl:${number}`))
      return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString("base64")
    }
    const line = Buffer.from(JSON.stringify(draft({ content: "b" })))
    const many = 10_000
    const lines = [
      Bun.zstdCompressSync(line),
      bomb(many),
      bomb(many, many * BLOCK),
      bomb(many, 100),
      Buffer.concat([Bun.zstdCompressSync(line), bomb(many)]),
      line,
    ].map(sealed)
    writeFileSync(join(folder.path, "entries", "two.1.jsonl"), `${lines.join("\n")}\n`)
    const reader = openFolderTarget(folder.path, "reader", PASSPHRASE, true)
    const before = process.resourceUsage().maxRSS
    expect(await reader.stats()).toMatchObject({ entries: 2, damaged: 5 })
    expect((process.resourceUsage().maxRSS - before) >> 10).toBeLessThan(60)
  })
})

/** What this machine remembers of encrypted folders: at each path, under each id, whatever somebody puts there. */
describe("sealed folders", () => {
  const idsOf = (seen: SealedFolders, root: string, id?: string): string[] =>
    seen.about(root, id).map((one) => one.id)

  test("a folder is known at its path, under its id, through links, and wherever it was", () => {
    using folder = tempFolder()
    const at = (name: string): string => join(folder.path, name)
    const seen = new SealedFolders(at("state"))
    expect(idsOf(seen, at("cloud"), "one")).toEqual([])
    mkdirSync(at("cloud"))
    symlinkSync(at("cloud"), at("link"))
    seen.note(at("link"), "one", "key", true)
    const again = new SealedFolders(at("state"))
    for (const root of ["cloud", "link"]) expect(idsOf(again, at(root))).toEqual(["one"])
    expect(idsOf(again, at("elsewhere"), "one")).toEqual(["one"])
    expect(idsOf(again, at("elsewhere"), "two")).toEqual([])
    // A link that leads elsewhere now, and a folder that is gone.
    rmSync(at("link"))
    mkdirSync(at("other"))
    symlinkSync(at("other"), at("link"))
    expect(idsOf(again, at("link"))).toEqual(["one"])
    expect(idsOf(again, at("other"))).toEqual([])
    renameSync(at("cloud"), at("moved"))
    expect(idsOf(again, at("cloud"))).toEqual(["one"])
    seen.note(at("moved"), "one", "key", true)
    expect(idsOf(again, at("moved"))).toEqual(["one"])
    expect(idsOf(again, at("cloud"))).toEqual(["one"])
  })

  test.skipIf(process.platform !== "linux")(
    "upper and lower case are told apart where the system does",
    () => {
      using folder = tempFolder()
      const at = (name: string): string => join(folder.path, name)
      const seen = new SealedFolders(at("state"))
      mkdirSync(at("cloud"))
      mkdirSync(at("Cloud"))
      seen.note(at("cloud"), "one", "key", true)
      expect(idsOf(seen, at("Cloud"))).toEqual([])
      // As on a stick that does not: one folder with both names.
      rmSync(at("Cloud"), { recursive: true })
      symlinkSync(at("cloud"), at("Cloud"))
      expect(idsOf(seen, at("Cloud"))).toEqual(["one"])
    },
  )

  test("what a passphrase has opened is not replaced by what it has not; a new key takes the place of the old one", () => {
    using folder = tempFolder()
    const root = join(folder.path, "cloud")
    const seen = new SealedFolders(join(folder.path, "state"))
    seen.note(root, "stranger", "key", false)
    expect(seen.about(root)).toMatchObject([{ id: "stranger", proven: false }])
    seen.note(root, "one", "key", true)
    expect(seen.about(root)).toMatchObject([{ id: "one", proven: true }])
    seen.note(root, "stranger", "key", false)
    seen.note(join(folder.path, "copy"), "one", "another key", false)
    expect(seen.about(root)).toMatchObject([{ id: "one", key: "key", proven: true }])
    expect(idsOf(seen, join(folder.path, "copy"))).toEqual([])
    seen.note(root, "two", "key", true)
    expect(seen.about(root, "one")).toMatchObject([{ id: "two" }])
    // Others stay.
    seen.note(join(folder.path, "other"), "three", "key", true)
    expect(idsOf(seen, root)).toEqual(["two"])
  })

  test("a file that is damaged is as none", () => {
    using folder = tempFolder()
    const seen = new SealedFolders(folder.path)
    for (const text of ["", "{", "[]", '{"folders":7}', '{"folders":[null,{"id":7}]}']) {
      writeFileSync(seen.file, text)
      expect({ text, about: seen.about("/x", "one") }).toEqual({ text, about: [] })
    }
  })
})
