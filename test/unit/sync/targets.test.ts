import { Database } from "bun:sqlite"
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
import { isServerAddress, serverAddress } from "../../../src/sync/targets/postgres-address.ts"
import { newSeal } from "../../../src/sync/targets/seal.ts"
import { openSqliteTarget } from "../../../src/sync/targets/sqlite-target.ts"
import { CONFLICTED, conflicted } from "../../support/conflicted.ts"
import { openFolderFrames } from "../../support/frames-of.ts"
import { NO_VARIABLES } from "../../support/postgres.ts"
import { tempFolder } from "../../support/temp.ts"
import { draft, piece, targetContract } from "./contract.ts"

/** Entries and frames in a folder: nobody loses anything, whoever is killed, and what is forgotten leaves the files. */
describe("folder target", () => {
  setDefaultTimeout(60_000)

  const PASSPHRASE = "correct horse battery staple"

  /** A key takes half a second to make, and this process remembers the keys that it has made: one for all such folders. */
  const shared = newSeal(PASSPHRASE).about

  /** Opened as one that another machine has made, with an id of its own. */
  function openTarget(root: string, writer: string, passphrase: string | undefined) {
    if (passphrase !== undefined && !existsSync(root)) {
      mkdirSync(root)
      const marker = { format: 2, id: crypto.randomUUID(), encryption: shared }
      writeFileSync(join(root, "ctxbridge.json"), JSON.stringify(marker))
    }
    return openFolderTarget(root, writer, passphrase)
  }

  for (const [name, passphrase] of [
    ["folder", undefined],
    ["encrypted folder", PASSPHRASE],
  ] as const) {
    const target = async () => {
      const folder = tempFolder()
      const root = join(folder.path, "target")
      return {
        open: async (machine: string) => openTarget(root, machine, passphrase),
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
            const one = openTarget(root, "host-1a2b3c4d", passphrase)
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
})

/** Pieces of vaults in a folder. */
describe("folder frames", () => {
  setDefaultTimeout(60_000)

  test("half a line is dropped, and put again", async () => {
    using folder = tempFolder()
    const first = piece("first\n")
    const second = piece("second\n", { from: first.to })
    await openFolderFrames(folder.path, "one").put([first, second])
    const file = join(folder.path, "frames", "one.1.jsonl")
    truncateSync(file, statSync(file).size - 20)
    const store = openFolderFrames(folder.path, "one")
    expect(await store.list()).toHaveLength(1)
    expect(await store.put([first, second])).toEqual({ stored: 1, known: 1, refused: 0 })
    expect(await store.get([first, second])).toEqual([first, second])
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  test("lines that are damaged, or say to be somebody else's, are passed over", async () => {
    using folder = tempFolder()
    const its = piece("mine\n")
    const store = openFolderFrames(folder.path, "one")
    await store.put([its])
    const file = join(folder.path, "frames", "one.1.jsonl")
    const foreign = readFileSync(file, "utf8").replace('"writer":"one"', '"writer":"other"')
    appendFileSync(file, `no json\n{"frame":"x"}\n${foreign}`)
    expect(await store.list()).toHaveLength(1)
    expect(await store.get([its])).toEqual([its])
  })

  test("forgotten bytes leave our files at once, and those of another machine at its next turn", async () => {
    using folder = tempFolder()
    const everything = (): string =>
      readdirSync(join(folder.path, "frames"))
        .map((name) => readFileSync(join(folder.path, "frames", name), "utf8"))
        .join("\n")
    const its = piece("the launch code\n", { session: "gone" })
    const inFile = Buffer.from(its.frame).toString("base64")
    const one = openFolderFrames(folder.path, "one")
    await one.put([its])
    await openFolderFrames(folder.path, "other").put([{ ...its, writer: "other" }])
    // What a process killed in the middle of this leaves.
    writeFileSync(join(folder.path, "frames/.one.1.jsonl.new"), inFile)
    await one.forget(["gone"])
    expect(readdirSync(join(folder.path, "frames"))).toEqual(["other.1.jsonl"])
    expect(everything()).toContain(inFile)
    await openFolderFrames(folder.path, "other").put([])
    expect(everything()).not.toContain(inFile)
  })
})

/** Entries in a SQLite file. */
describe("sqlite target", () => {
  setDefaultTimeout(60_000)

  const target = async () => {
    const folder = tempFolder()
    const path = join(folder.path, "target.db")
    return {
      open: async () => openSqliteTarget(path),
      read: async () => openSqliteTarget(path, true),
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    }
  }

  targetContract("sqlite", target, { frames: false })

  test("it is one private file, and forgotten or replaced text is not in it any more", async () => {
    using folder = tempFolder()
    const path = join(folder.path, "target.db")
    const backend = openSqliteTarget(path)
    const secret = draft({ content: "the launch code is swordfish", messages: 2 })
    const { chunkIndex } = secret.metadata
    const other = draft({ content: "marlin" })
    await backend.put([secret, other, draft({ content: "kept" })])
    expect(readFileSync(path, "latin1")).toContain("swordfish")
    await backend.put([draft({ content: "the launch code is *********", messages: 3, chunkIndex })])
    await backend.forget({ ids: [other.id] })
    await backend.close()
    expect(readdirSync(folder.path)).toEqual(["target.db"])
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const bytes = readFileSync(path, "latin1")
    for (const word of ["swordfish", "marlin"]) expect(bytes).not.toContain(word)
    expect(bytes).toContain("kept")
  })

  test("entries are there under the design documents' names, also in a file of an earlier version", async () => {
    using folder = tempFolder()
    const path = join(folder.path, "target.db")
    const entry = draft({ content: "about owls", toolNames: ["Bash"], trigger: "auto", preTokens: 9 })
    const { tags: _, type: _type, ...earlier } = draft({ content: "about herons" })
    const first = openSqliteTarget(path)
    await first.put([entry])
    await first.close()
    const dropped = new Database(path)
    dropped.run("DROP VIEW transcript_entries")
    dropped.close()
    const again = openSqliteTarget(path)
    await again.put([earlier])
    await again.close()
    const db = new Database(path)
    const rows = db
      .query<Record<string, unknown>, []>("SELECT * FROM transcript_entries ORDER BY chunk_index")
      .all()
    db.close()
    const [owls, herons] = rows.map(
      ({ tags, metadata, ...row }): Record<string, unknown> => ({
        ...row,
        tags: JSON.parse(String(tags)),
        metadata: JSON.parse(String(metadata)),
      }),
    )
    expect(owls).toEqual({
      id: entry.id,
      key: entry.key,
      content: "about owls",
      type: "episodic",
      namespace: "transcript-archive",
      tags: ["transcript", "compaction", entry.metadata.sessionId, "Bash"],
      metadata: { ...entry.metadata, summary: "about owls" },
      access_level: "private",
      created_at: Date.parse(entry.metadata.timestamp!),
      content_hash: entry.metadata.contentHash,
      session_id: entry.metadata.sessionId,
      chunk_index: entry.metadata.chunkIndex,
      summary: "about owls",
    })
    expect(herons).toMatchObject({
      type: "episodic",
      tags: ["transcript", "compaction", entry.metadata.sessionId],
    })
  })

  test("a reader makes and changes nothing", async () => {
    using folder = tempFolder()
    const path = join(folder.path, "target.db")
    const codeOf = (open: () => unknown): unknown => {
      try {
        open()
        return "opened"
      } catch (error) {
        return (error as { code?: unknown }).code
      }
    }
    expect(codeOf(() => openSqliteTarget(path, true))).toBe("target-missing")
    expect(existsSync(path)).toBe(false)
    expect(codeOf(() => openSqliteTarget(join(folder.path, "missing", "x.db")))).toBe("target-missing")
    const entry = draft({})
    const writer = openSqliteTarget(path)
    await writer.put([entry])
    const reader = openSqliteTarget(path, true)
    expect(await reader.get(entry.id)).toEqual(entry)
    await expect(reader.put([draft({})])).rejects.toMatchObject({ code: "target-unwritable" })
    await reader.close()
    await writer.close()
  })

  test("what is no file of ours is left alone", async () => {
    using folder = tempFolder()
    const at = (name: string): string => join(folder.path, name)
    const codeOf = (path: string): unknown => {
      try {
        openSqliteTarget(path)
        return "opened"
      } catch (error) {
        return (error as { code?: unknown }).code
      }
    }
    mkdirSync(at("folder"))
    expect(codeOf(at("folder"))).toBe("target-missing")
    writeFileSync(at("text"), "not a database, but long enough to be taken for one".repeat(40))
    expect(codeOf(at("text"))).toBe("target-damaged")
    const { Database } = await import("bun:sqlite")
    const foreign = new Database(at("foreign"))
    foreign.run("CREATE TABLE notes (text)")
    foreign.close()
    expect(codeOf(at("foreign"))).toBe("target-damaged")
    const newer = new Database(at("newer"))
    newer.run("PRAGMA user_version = 99")
    newer.close()
    expect(codeOf(at("newer"))).toBe("target-newer")
  })
})

/** Where a server is: addresses, variables, and when the connection is encrypted. */
describe("postgres address", () => {
  test("an address has everything", () => {
    const whole = "postgresql://me%40home:p%3Ass@db.example:6543/memory?sslrootcert=/etc/ca.pem"
    expect(serverAddress(whole, NO_VARIABLES)).toEqual({
      host: "db.example",
      port: 6543,
      database: "memory",
      user: "me@home",
      password: "p:ss",
      tls: true,
      sslrootcert: "/etc/ca.pem",
      isRuvector: false,
      shown: "postgres://me@home@db.example:6543/memory",
    })
  })

  test("what is missing comes from the variables, then from what is usual", () => {
    const all = {
      ...NO_VARIABLES,
      host: "db.example",
      port: "6543",
      database: "memory",
      user: "me",
      password: "secret",
    }
    const expected = { host: "db.example", port: 6543, database: "memory", user: "me", password: "secret" }
    for (const named of ["postgres:", "postgres://", "POSTGRESQL:"])
      expect(serverAddress(named, all)).toMatchObject(expected)
    expect(serverAddress("postgres://you@other/db", all)).toMatchObject({
      host: "other",
      user: "you",
      database: "db",
    })
    expect(serverAddress("postgres://you@", NO_VARIABLES)).toMatchObject({
      host: "localhost",
      port: 5432,
      database: "you",
    })
    expect(serverAddress("postgres://me@[::1]:7/x", NO_VARIABLES)).toMatchObject({
      host: "::1",
      port: 7,
      tls: false,
    })
    expect(serverAddress("postgres://me@/x?host=/run/postgresql", NO_VARIABLES)).toMatchObject({
      host: "/run/postgresql",
      tls: false,
    })
  })

  describe("encryption", () => {
    const tlsOf = (host: string, sslmode?: string): boolean =>
      serverAddress(
        `postgres://me@${host}/x${sslmode === undefined ? "" : `?sslmode=${sslmode}`}`,
        NO_VARIABLES,
      ).tls

    test("always, beyond this computer", () => {
      for (const host of ["db.example", "10.0.0.1", "128.0.0.1", "localhost.example", "127.0.0.1.example"]) {
        for (const mode of [undefined, "allow", "prefer", "require", "verify-ca", "verify-full"])
          expect({ host, mode, tls: tlsOf(host, mode) }).toEqual({ host, mode, tls: true })
        expect(tlsOf(host, "disable")).toBe(false)
      }
    })

    test("on this computer only if asked for", () => {
      for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "[::1]"]) {
        expect([tlsOf(host), tlsOf(host, "prefer"), tlsOf(host, "require")]).toEqual([false, false, true])
      }
    })
  })

  test("what is wrong is said without the password", () => {
    const messageFor = (named: string, variables = NO_VARIABLES): string => {
      try {
        return serverAddress(named, variables).shown
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(messageFor("postgres://me:swordfish@host:port/x")).toBe("cannot read the server's address")
    expect(messageFor("postgres://host/x")).toBe("the address has no user")
    expect(messageFor("postgres://me:swordfish@host/x?sslmode=maybe")).toBe("unknown sslmode: maybe")
    expect(messageFor("postgres://me:swordfish@host/x?options=-c")).toBe(
      "unknown part of the address: options",
    )
    expect(messageFor("postgres://me@host/x", { ...NO_VARIABLES, port: "many" })).toBe("not a port: many")
    expect(messageFor("postgres://me:swordfish@host/x")).not.toContain("swordfish")
  })

  test("only addresses are addresses", () => {
    for (const one of ["postgres:", "postgresql://x", "Postgres://x"]) expect(isServerAddress(one)).toBe(true)
    for (const one of ["postgres", "./postgres:", "/a/postgres:b", "https://x"])
      expect(isServerAddress(one)).toBe(false)
  })
})
