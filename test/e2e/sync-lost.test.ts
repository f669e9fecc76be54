/** What somebody else has removed, damaged, renamed or restored at a target is noticed, sent again, and there once. */

import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { basename, join } from "node:path"
import { run } from "../support/binary.ts"
import { CONFLICTED, conflicted } from "../support/conflicted.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { startPglite, type TestServer } from "../support/postgres.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const OTHER = "bbbbbbbb-0000-4000-8000-000000000001"
const PASSPHRASE = "correct horse battery staple"

const cli = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

interface Synced {
  readonly stored: number
  readonly known: number
  readonly refused: number
  readonly lost: number
  readonly mended: number
  readonly mendedIn: readonly { file: string; lines: number }[]
  readonly forgotten: number
  readonly there: {
    entries: number
    sessions: number
    damaged: number
    damagedIn?: { file: string; lines: number }[]
  }
  readonly frames: { copies: number; pieces: number; lost: number; changed: number; refused: number } | null
  readonly fetched: {
    available: number
    copies: number
    damaged: number
    damagedIn: { file: string }[]
  } | null
}

async function synced(machine: Machine, ...args: string[]): Promise<Synced> {
  const { code, stdout, stderr } = await cli(machine, "sync", "--json", ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

/** What people see. */
async function said(machine: Machine, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(machine, "sync", ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout
}

const mirrorsOf = (machine: Machine): string[] => {
  const root = join(machine.dataHome, "vault", "fetched")
  return existsSync(root)
    ? (readdirSync(root, { recursive: true }) as string[])
        .filter((name) => name.endsWith(".zst"))
        .map((name) => join(root, name))
    : []
}

const bytesOf = (sessions: readonly Transcript[]): string[] =>
  sessions.map(({ path }) => readFileSync(path, "utf8")).sort()

const TURNS = 5

/** Two sessions of which one has grown between two syncs: five turns, three pieces. */
async function sent(machine: Machine, to: string, afterFirst: () => unknown): Promise<readonly Transcript[]> {
  const a = machine.session().turn("about the heron").turn("about the crane")
  const b = machine.session().turn("about the owl")
  for (const one of [a, b]) await machine.hook("stop", one.flush())
  await synced(machine, "--to", to, "--frames")
  await afterFirst()
  await machine.hook("stop", a.turn("about the stork").turn("about the ibis").flush())
  expect(await synced(machine, "--to", to, "--frames")).toMatchObject({
    lost: 0,
    there: { entries: TURNS, sessions: 2 },
    frames: { pieces: 1, lost: 0, changed: 0 },
  })
  return [a, b]
}

/** What is lost is sent at the second sync, the third has nothing to do, and another machine gets everything once. */
async function mends(
  one: Machine,
  to: string,
  sessions: readonly Transcript[],
  lost: { turns: number; copies: number },
  env: Record<string, string> = {},
): Promise<void> {
  const second = await synced(one, "--to", to, "--frames")
  expect({ turns: second.lost, copies: second.frames!.lost }).toEqual(lost)
  expect(second).toMatchObject({
    ...{ stored: lost.turns, refused: 0, mended: 0 },
    there: { entries: TURNS, sessions: 2, damaged: 0 },
    frames: { copies: lost.copies, changed: 0, refused: 0 },
  })
  expect(await said(one, "--to", to, "--frames")).toBe(
    `Nothing new for ${to}\nNo new frames\nThere now: ${TURNS} turns of 2 sessions\n`,
  )
  using other = new Machine()
  Object.assign(other.env, env)
  expect(await synced(other, "--to", to, "--pull")).toMatchObject({
    fetched: { available: 2, copies: 2, damaged: 0, damagedIn: [] },
  })
  expect(
    mirrorsOf(other)
      .map((file) => contentOf(file).toString())
      .sort(),
  ).toEqual(bytesOf(sessions))
}

/** Files of a folder's entries, or frames. */
const filesIn = (root: string, folder: string): string[] =>
  readdirSync(join(root, folder)).map((name) => join(root, folder, name))

const both = (root: string): string[] => ["entries", "frames"].flatMap((folder) => filesIn(root, folder))

const each = (files: readonly string[], change: (file: string) => void): void => {
  for (const file of files) change(file)
}

const linesOf = (file: string): string[] => readFileSync(file, "utf8").split("\n").slice(0, -1)

const withLines = (file: string, change: (lines: string[]) => string[]): void =>
  writeFileSync(
    file,
    change(linesOf(file))
      .map((line) => `${line}\n`)
      .join(""),
  )

const garbled = (line: string): string => `${line.slice(0, 2)}#${line.slice(3)}`

/** Changes a character of the base64 that a frame is in, and nothing of its JSON. */
function withOtherFrame(line: string): string {
  const at = line.length - 40
  return `${line.slice(0, at)}${line[at] === "A" ? "B" : "A"}${line.slice(at + 1)}`
}

const NOTHING = { turns: 0, copies: 0 }
const ALL = { turns: TURNS, copies: 2 }

/** What happens to the folder, and what is lost by it: plain, and encrypted, where each line is bound to its number. */
const FOLDER_CASES: readonly (readonly [
  name: string,
  damage: (root: string, before: string) => void,
  lost: typeof ALL,
  sealed?: typeof ALL,
])[] = [
  [
    "the entries are gone",
    (root) => rmSync(join(root, "entries"), { recursive: true }),
    { turns: TURNS, copies: 0 },
  ],
  [
    "the frames are gone",
    (root) => rmSync(join(root, "frames"), { recursive: true }),
    { turns: 0, copies: 2 },
  ],
  ["all files are gone", (root) => each(both(root), (file) => rmSync(file)), ALL],
  ["all files are empty", (root) => each(both(root), (file) => writeFileSync(file, "")), ALL],
  [
    "files are cut off behind a line",
    (root) => each(both(root), (file) => withLines(file, (lines) => lines.slice(0, -1))),
    { turns: 1, copies: 1 },
  ],
  [
    "files are cut off within a line",
    (root) => each(both(root), (file) => writeFileSync(file, readFileSync(file, "utf8").slice(0, -90))),
    { turns: 1, copies: 1 },
  ],
  [
    "a line in the middle is gone",
    (root) => each(both(root), (file) => withLines(file, (lines) => lines.toSpliced(1, 1))),
    { turns: 1, copies: 1 },
    { turns: TURNS - 1, copies: 2 },
  ],
  [
    "the first line is damaged",
    (root) => each(both(root), (file) => withLines(file, ([first, ...rest]) => [garbled(first!), ...rest])),
    { turns: 1, copies: 1 },
  ],
  [
    "the last line is damaged",
    (root) =>
      each(both(root), (file) => withLines(file, (lines) => [...lines.slice(0, -1), garbled(lines.at(-1)!)])),
    { turns: 1, copies: 1 },
  ],
  [
    "the bytes of a frame are damaged",
    (root) =>
      each(filesIn(root, "frames"), (file) =>
        withLines(file, ([first, ...rest]) => [withOtherFrame(first!), ...rest]),
      ),
    { turns: 0, copies: 1 },
  ],
  [
    "zeros are where lines were",
    (root) =>
      each(both(root), (file) => withLines(file, (lines) => lines.map((line) => "\0".repeat(line.length)))),
    ALL,
  ],
  [
    "it is as it was before the last sync",
    (root, before) => {
      for (const folder of ["entries", "frames"]) rmSync(join(root, folder), { recursive: true })
      cpSync(before, root, { recursive: true })
    },
    { turns: 2, copies: 1 },
  ],
  ...CONFLICTED.map(
    (pattern) =>
      [
        `a copy lies beside each file: ${pattern}`,
        (root: string) => each(both(root), (file) => copyFileSync(file, conflicted(file, pattern))),
        NOTHING,
      ] as const,
  ),
  ...CONFLICTED.map(
    (pattern) =>
      [
        `only copies are left: ${pattern}`,
        (root: string) => each(both(root), (file) => renameSync(file, conflicted(file, pattern))),
        NOTHING,
      ] as const,
  ),
  [
    "what one copy lacks, the other has",
    (root) =>
      each(both(root), (file) => {
        copyFileSync(file, conflicted(file, CONFLICTED[0]!))
        withLines(file, (lines) => lines.slice(0, 1))
      }),
    NOTHING,
  ],
]

for (const [kind, passphrase] of [
  ["a folder", undefined],
  ["an encrypted folder", PASSPHRASE],
] as const) {
  describe(`at ${kind}`, () => {
    const env: Record<string, string> =
      passphrase === undefined ? {} : { CTXBRIDGE_SYNC_PASSPHRASE: passphrase }
    // Half a second for each key, so only what differs there.
    const isTried = (name: string): boolean =>
      passphrase === undefined ||
      /middle|within|first line|as it was|lacks|: .*(?:\(1\)\.|LAPTOP|Copy of)/.test(name)
    for (const [name, damage, plain, sealed = plain] of FOLDER_CASES.filter(([name]) => isTried(name))) {
      test(name, async () => {
        using one = new Machine()
        using folder = tempFolder()
        Object.assign(one.env, env)
        const [root, before] = [join(folder.path, "target"), join(folder.path, "before")]
        const sessions = await sent(one, root, () => cpSync(root, before, { recursive: true }))
        damage(root, before)
        await mends(one, root, sessions, passphrase === undefined ? plain : sealed, env)
        // What a copy had is in one file again, or still in the copy, but never twice.
        expect(filesIn(root, "entries").flatMap(linesOf)).toHaveLength(TURNS)
        const frames = filesIn(root, "frames").flatMap(linesOf)
        expect(new Set(frames.map((line) => line.replace(/"frame":.*/, ""))).size).toBe(frames.length)
      })
    }

    test("names in capitals, as some drives show them", async () => {
      using one = new Machine()
      using folder = tempFolder()
      Object.assign(one.env, env)
      const root = join(folder.path, "target")
      const sessions = await sent(one, root, () => {})
      for (const file of both(root)) renameSync(file, join(file, "..", file.split("/").at(-1)!.toUpperCase()))
      const second = await synced(one, "--to", root, "--frames")
      expect(second.there).toMatchObject({ entries: TURNS, damaged: 0 })
      await mends(one, root, sessions, NOTHING, env)
      for (const name of ["entries", "frames", "ctxbridge.json"])
        renameSync(join(root, name), join(root, name.toUpperCase()))
      await mends(one, root, sessions, NOTHING, env)
      await one.hook("stop", sessions[0]!.turn("one more").flush())
      expect(await synced(one, "--to", root, "--frames")).toMatchObject({
        ...{ stored: 1, lost: 0, there: { entries: TURNS + 1 }, frames: { pieces: 1, lost: 0 } },
      })
      expect(readdirSync(root).sort()).toEqual(["CTXBRIDGE.JSON", "ENTRIES", "FRAMES"])
    })

    test("what is another machine's is named once, with what to do, and mended by that machine", async () => {
      using one = new Machine()
      using other = new Machine()
      using folder = tempFolder()
      for (const machine of [one, other]) Object.assign(machine.env, env)
      const root = join(folder.path, "target")
      await sent(one, root, () => {})
      await other.hook("stop", other.session({ id: OTHER }).turn("mine").flush())
      await synced(other, "--to", root)
      const [entries, frames] = [filesIn(root, "entries"), filesIn(root, "frames")]
      const its = frames[0]!.split("/").at(-1)!
      for (const file of [join(root, "entries", its), frames[0]!])
        withLines(file, ([first, ...rest]) => [garbled(first!), ...rest])
      expect(entries).toHaveLength(2)
      const machine = its.replace(/-[0-9a-f]{8}\..*$/, "")
      const line = (name: string, command: string): string =>
        `1 line of ${name}/${its} cannot be read: run ${command} on ${machine}, which sends what is missing\n`
      const told = line("entries", "ctxbridge sync")
      const quiet = `Nothing new for ${root}\nThere now: ${TURNS} turns of 3 sessions\n`
      expect(await said(other, "--to", root)).toBe(quiet + told)
      expect(await said(other, "--to", root)).toBe(quiet)
      expect(await said(other, "--to", root, "--all")).toContain(told)
      expect((await synced(other, "--to", root)).there).toMatchObject({
        damaged: 1,
        damagedIn: [{ file: `entries/${its}`, lines: 1 }],
      })
      const pulled = await said(other, "--to", root, "--pull")
      expect(pulled).toEndWith(`\n${line("frames", "ctxbridge sync --frames")}`)
      for (const args of [["--pull"], [], ["--pull", "--frames"]])
        expect(await said(other, "--to", root, ...args)).not.toContain("cannot be read")
      expect((await said(one, "--to", root, "--frames")).split("\n")).toEqual([
        `Sent 1 turn to ${root}`,
        "1 of these had been sent before, and was lost there",
        expect.stringMatching(/^Sent the frames of 1 transcript: [0-9.]+ KB$/),
        "1 transcript had been lost or damaged there, and was sent again",
        `There now: ${TURNS + 1} turns of 3 sessions`,
        `1 line of entries/${its} could not be read, and was removed`,
        `1 line of frames/${its} could not be read, and was removed`,
        "",
      ])
      expect((await synced(other, "--to", root, "--pull")).fetched).toMatchObject({
        damaged: 0,
        damagedIn: [],
      })
      expect((await synced(other, "--to", root)).there).toEqual({
        ...{ entries: TURNS + 1, sessions: 3, forgotten: 0, damaged: 0 },
      })
    })

    test("what is nobody's is named once; what somebody has added to an own file is removed", async () => {
      using one = new Machine()
      using folder = tempFolder()
      Object.assign(one.env, env)
      const root = join(folder.path, "target")
      await sent(one, root, () => {})
      const [own] = filesIn(root, "entries")
      writeFileSync(join(root, "entries", "notes.jsonl"), "milk\nbread\n")
      mkdirSync(join(root, "entries", "old.jsonl"))
      appendFileSync(own!, "\n{}\nhalf a li")
      const quiet = `Nothing new for ${root}\nThere now: ${TURNS} turns of 2 sessions\n`
      expect(await said(one, "--to", root)).toBe(
        `${quiet}2 lines of entries/${basename(own!)} could not be read, and were removed\n` +
          "2 lines of entries/notes.jsonl cannot be read: remove the file, unless you know what it is\n",
      )
      expect(await said(one, "--to", root)).toBe(quiet)
      rmSync(join(root, "entries", "notes.jsonl"))
      expect((await synced(one, "--to", root)).there).toMatchObject({ entries: TURNS, damaged: 0 })
    })

    test("what was forgotten is told again where that is gone, before others bring it back", async () => {
      using one = new Machine()
      using folder = tempFolder()
      Object.assign(one.env, env)
      const root = join(folder.path, "target")
      const [gone] = await sent(one, root, () => {})
      expect(await cli(one, "forget", gone!.session, "--yes")).toMatchObject({ code: 0 })
      expect((await synced(one, "--to", root, "--frames")).there).toMatchObject({ entries: 1, forgotten: 5 })
      rmSync(join(root, "forgotten"), { recursive: true })
      expect((await synced(one, "--to", root, "--frames")).there).toMatchObject({ entries: 1, forgotten: 1 })
      expect(await said(one, "--to", root, "--frames")).toBe(
        `Nothing new for ${root}\nNo new frames\nThere now: 1 turn of 1 session\n`,
      )
    })
  })
}

/** What happens to the tables, as SQL. `saved_…` are what they were before the last sync. */
const SERVER_CASES: readonly (readonly [name: string, statements: string, lost: typeof ALL])[] = [
  [
    "some rows are gone",
    `DELETE FROM ctxbridge.entries WHERE content LIKE '%owl%';
     DELETE FROM ctxbridge.frames WHERE (about->>'from')::int > 0`,
    { turns: 1, copies: 1 },
  ],
  ["all rows are gone", "TRUNCATE ctxbridge.entries, ctxbridge.frames", ALL],
  ["all turns are gone", "TRUNCATE ctxbridge.entries", { turns: TURNS, copies: 0 }],
  ["all frames are gone", "DELETE FROM ctxbridge.frames", { turns: 0, copies: 2 }],
  [
    "the first frame of a transcript is gone",
    "DELETE FROM ctxbridge.frames f WHERE start = 0 AND EXISTS (SELECT FROM ctxbridge.frames o WHERE o.copy = f.copy AND o.start > 0)",
    { turns: 0, copies: 1 },
  ],
  [
    "it was restored from before the last sync",
    `TRUNCATE ctxbridge.entries, ctxbridge.frames;
     INSERT INTO ctxbridge.frames SELECT * FROM saved_frames;
     DO $$ BEGIN EXECUTE (SELECT format('INSERT INTO ctxbridge.entries (%1$s) SELECT %1$s FROM saved_entries',
       string_agg(quote_ident(column_name), ', ')) FROM information_schema.columns
       WHERE table_schema = 'ctxbridge' AND table_name = 'entries' AND is_generated = 'NEVER'); END $$`,
    { turns: 2, copies: 1 },
  ],
  [
    "one version is an earlier one",
    "UPDATE ctxbridge.entries SET messages = 1, id = repeat('0', 64) WHERE content LIKE '%owl%'",
    { turns: 1, copies: 0 },
  ],
]

const SAVING = `DROP TABLE IF EXISTS saved_entries, saved_frames;
  CREATE TABLE saved_entries AS TABLE ctxbridge.entries; CREATE TABLE saved_frames AS TABLE ctxbridge.frames`

describe("at a server", () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startPglite({ vectors: false })
  })
  afterAll(async () => server[Symbol.asyncDispose]())

  for (const [name, statements, lost] of SERVER_CASES) {
    test(name, async () => {
      await server.run("DROP SCHEMA IF EXISTS ctxbridge CASCADE")
      using one = new Machine()
      const sessions = await sent(one, server.address, () => server.run(SAVING))
      await server.run(statements)
      await mends(one, server.address, sessions, lost)
    })
  }

  test("as many rows as another machine adds are missed nevertheless", async () => {
    await server.run("DROP SCHEMA IF EXISTS ctxbridge CASCADE")
    using one = new Machine()
    using other = new Machine()
    await sent(one, server.address, () => {})
    await server.run("DELETE FROM ctxbridge.entries WHERE content LIKE '%owl%'")
    await other.hook("stop", other.session({ id: OTHER }).turn("mine").flush())
    expect(await synced(other, "--to", server.address)).toMatchObject({
      stored: 1,
      there: { entries: TURNS },
    })
    expect(await synced(one, "--to", server.address)).toMatchObject({
      lost: 1,
      there: { entries: TURNS + 1 },
    })
    // Neither misses what the other has forgotten.
    expect(await cli(other, "forget", OTHER, "--yes")).toMatchObject({ code: 0 })
    expect(await synced(other, "--to", server.address)).toMatchObject({ there: { entries: TURNS } })
    expect(await synced(one, "--to", server.address)).toMatchObject({ lost: 0, refused: 0, stored: 0 })
  })

  test("a damaged row costs itself alone, and --all replaces it", async () => {
    await server.run("DROP SCHEMA IF EXISTS ctxbridge CASCADE")
    using one = new Machine()
    await sent(one, server.address, () => {})
    const damages = [
      `metadata = jsonb_set(metadata, '{toolNames}', '"Bash"')`,
      `metadata = jsonb_set(metadata, '{filePaths}', '{"a": 1}')`,
      `metadata = jsonb_set(metadata, '{usage}', '7')`,
      `metadata = jsonb_set(metadata, '{messages}', '"many"')`,
      `metadata = jsonb_set(metadata, '{toolNames}', '[1]')`,
      `metadata = '"text"'`,
      `metadata = 'null'`,
      `metadata = '[]'`,
      "content = 'something else'",
      "summary = ''",
    ]
    for (const damage of damages) {
      await server.run(`UPDATE ctxbridge.entries SET ${damage} WHERE content LIKE '%owl%'`)
      for (const options of [[], ["--tool", "Bash"], ["--file", "a.ts"], ["--since", "2020-01-01"]]) {
        const found = await cli(
          one,
          "search",
          "about",
          "--backend",
          server.address,
          "--json",
          "--all-projects",
          ...options,
        )
        if (options.length === 0 || options[0] === "--since") {
          expect({ damage, code: found.code, stderr: found.stderr }).toEqual({ damage, code: 0, stderr: "" })
          const hits = (JSON.parse(found.stdout) as { hits: { snippet: string }[] }).hits.length
          expect({ damage, hits }).toEqual({
            damage,
            hits: damage.startsWith("summary") || damage.includes("usage") ? TURNS : TURNS - 1,
          })
        } else expect({ damage, code: found.code, stderr: found.stderr }).toMatchObject({ code: 3 })
      }
      await server.run("SELECT sum(input_tokens) FROM ctxbridge.conversations")
      const mended = await synced(one, "--to", server.address, "--all")
      const isRead = damage.startsWith("summary") || damage.includes("usage")
      expect({ damage, mended: mended.mended, stored: mended.stored }).toEqual({
        damage,
        mended: isRead ? 0 : 1,
        stored: isRead ? 0 : 1,
      })
      expect(mended.there).toMatchObject({ entries: TURNS })
    }
  })
})

/** What happens to the file, as SQL. */
const FILE_CASES: readonly (readonly [
  name: string,
  damage: (file: string, before: string) => void,
  lost: number,
])[] = [
  ["some rows are gone", (file) => sql(file, "DELETE FROM entries WHERE entry LIKE '%owl%'"), 1],
  ["all rows are gone", (file) => sql(file, "DELETE FROM entries; DELETE FROM words"), TURNS],
  ["it is as it was before the last sync", (file, before) => copyFileSync(before, file), 2],
  [
    "one version is an earlier one",
    (file) => sql(file, "UPDATE entries SET messages = 1 WHERE entry LIKE '%owl%'"),
    1,
  ],
]

const sql = (file: string, statements: string): void => {
  const db = new Database(file)
  db.run(statements)
  db.close()
}

describe("in a SQLite file", () => {
  const prepared = async (
    one: Machine,
    root: string,
  ): Promise<{ to: string; file: string; before: string }> => {
    const file = join(root, "target.db")
    const to = `sqlite:${file}`
    const session = one.session().turn("about the heron").turn("about the crane").turn("about the owl")
    await one.hook("stop", session.flush())
    await synced(one, "--to", to)
    copyFileSync(file, join(root, "before.db"))
    await one.hook("stop", session.turn("about the stork").turn("about the ibis").flush())
    await synced(one, "--to", to)
    return { to, file, before: join(root, "before.db") }
  }

  for (const [name, damage, lost] of FILE_CASES) {
    test(name, async () => {
      using one = new Machine()
      using folder = tempFolder()
      const { to, file, before } = await prepared(one, folder.path)
      damage(file, before)
      expect(await synced(one, "--to", to)).toMatchObject({ lost, stored: lost, there: { entries: TURNS } })
      expect(await said(one, "--to", to)).toBe(
        `Nothing new for ${to}\nThere now: ${TURNS} turns of 1 session\n`,
      )
    })
  }

  test("a damaged row costs itself alone, and --all replaces it", async () => {
    using one = new Machine()
    using folder = tempFolder()
    const { to, file } = await prepared(one, folder.path)
    for (const damage of [
      `entry = json_set(entry, '$.metadata.toolNames', 'Bash')`,
      "entry = '{'",
      "entry = 7",
      "key = 'x', id = substr(id, 1, 16)",
      "messages = 'many'",
    ]) {
      sql(file, `UPDATE entries SET ${damage} WHERE entry LIKE '%owl%'`)
      const found = await cli(one, "search", "about", "--backend", to, "--json", "--all-projects")
      expect({ damage, code: found.code, stderr: found.stderr }).toEqual({ damage, code: 0, stderr: "" })
      const hits = (JSON.parse(found.stdout) as { hits: unknown[] }).hits.length
      expect(hits).toBe(damage.startsWith("entry") ? TURNS - 1 : TURNS)
      const mended = await synced(one, "--to", to, "--all")
      expect({ damage, mended: mended.mended, there: mended.there.entries }).toEqual({
        damage,
        mended: 1,
        there: TURNS,
      })
      expect(await said(one, "--to", to)).toStartWith("Nothing new")
    }
  })
})

/** What machines have of other machines' transcripts is passed on to a target that lacks it, as theirs, and once. */
describe("what was fetched", () => {
  for (const kind of ["folders", "servers"] as const) {
    test(`is at another target once, whoever comes first: ${kind}`, async () => {
      await using stack = new AsyncDisposableStack()
      using folder = tempFolder()
      const target = async (name: string): Promise<string> =>
        kind === "folders"
          ? join(folder.path, name)
          : stack.use(await startPglite({ vectors: false })).address
      const [first, second] = [await target("first"), await target("second")]
      const machines = Array.from({ length: 5 }, () => stack.use(new Machine()))
      const [old, b, c, d, e] = machines as [Machine, Machine, Machine, Machine, Machine]
      const sessions = Array.from({ length: 4 }, (_, n) => old.session().turn(`about the heron ${n}`))
      for (const one of sessions) await old.hook("stop", one.flush())
      await synced(old, "--to", first, "--frames")
      for (const machine of [b, c]) {
        expect(await synced(machine, "--to", first, "--frames", "--pull")).toMatchObject({
          ...{ stored: 0, frames: { copies: 0 }, fetched: { copies: 4 }, there: { entries: 4, sessions: 4 } },
        })
      }
      // Its own machine has not been there yet: whoever has it brings it, and nobody twice.
      expect((await synced(b, "--to", second, "--frames")).frames).toMatchObject({ copies: 4 })
      expect((await synced(c, "--to", second, "--frames")).frames).toMatchObject({ copies: 0 })
      const atD = await synced(d, "--to", second, "--pull")
      expect(atD.fetched).toMatchObject({ available: 4, copies: 4 })
      expect(mirrorsOf(d)).toHaveLength(4)
      // Now it comes itself, and goes on.
      await old.hook("stop", sessions[0]!.turn("one more").flush())
      expect((await synced(old, "--to", second, "--frames")).frames).toMatchObject({ copies: 4 })
      for (const machine of [b, c, d, b])
        expect(await synced(machine, "--to", second, "--frames", "--pull")).toMatchObject({
          ...{ frames: { copies: 0 }, there: { entries: 5, sessions: 4 } },
        })
      for (const [machine, at] of [
        [e, second],
        [d, second],
        [d, first],
      ] as const)
        expect((await synced(machine, "--to", at, "--pull")).fetched).toMatchObject({ available: 4 })
      for (const machine of [b, c, d, e]) {
        const mirrors = mirrorsOf(machine)
          .map((file) => contentOf(file).toString())
          .sort()
        expect(mirrors).toEqual(bytesOf(sessions))
        const found = await cli(machine, "search", "heron", "--backend", second, "--all-projects", "--json")
        expect(found).toMatchObject({ code: 0, stderr: "" })
        const { hits } = JSON.parse(found.stdout) as { hits: { session: string }[] }
        expect(hits.map(({ session }) => session).sort()).toEqual(
          sessions.map(({ session }) => session).sort(),
        )
      }
    })
  }

  test("several that bring it at the same time end with it there once", async () => {
    using folder = tempFolder()
    await using stack = new AsyncDisposableStack()
    const [first, second] = ["first", "second"].map((name) => join(folder.path, name)) as [string, string]
    const [old, b, c, d] = Array.from({ length: 4 }, () => stack.use(new Machine())) as [
      Machine,
      Machine,
      Machine,
      Machine,
    ]
    const sessions = Array.from({ length: 3 }, (_, n) => old.session().turn(`about the heron ${n}`))
    for (const one of sessions) await old.hook("stop", one.flush())
    await synced(old, "--to", first, "--frames")
    for (const machine of [b, c]) await synced(machine, "--to", first, "--pull")
    // Neither sees what the other has sent.
    await synced(b, "--to", second, "--frames")
    const [its] = filesIn(second, "frames")
    renameSync(its!, join(folder.path, "on its way"))
    await synced(c, "--to", second, "--frames")
    renameSync(join(folder.path, "on its way"), its!)
    expect(filesIn(second, "frames")).toHaveLength(2)
    expect((await synced(d, "--to", second, "--pull")).fetched).toMatchObject({ available: 3, copies: 3 })
    for (const machine of [b, c, b, c]) await synced(machine, "--to", second, "--frames")
    const [kept, ...more] = filesIn(second, "frames")
    expect(more).toEqual([])
    expect(linesOf(kept!)).toHaveLength(3)

    // Former versions did not say whose it is.
    const sender = kept!.includes(machineId(b)) ? b : c
    withLines(kept!, (lines) => lines.map((line) => line.replace(/"of":\{[^}]*\},/, "")))
    await synced(old, "--to", second, "--frames")
    using e = new Machine()
    for (const machine of [d, e])
      expect((await synced(machine, "--to", second, "--pull")).fetched).toMatchObject({
        available: 3,
        damaged: 0,
      })
    for (const machine of [d, e])
      expect(
        mirrorsOf(machine)
          .map((file) => contentOf(file).toString())
          .sort(),
      ).toEqual(bytesOf(sessions))
    await synced(sender, "--to", second, "--frames")
    expect(filesIn(second, "frames").map((file) => file.includes(machineId(old)))).toEqual([true])
  })
})

const machineId = (machine: Machine): string =>
  readFileSync(join(machine.dataHome, "sync", "id.txt"), "utf8").trim()
