/** Sessions of opencode 2, which has other tables than opencode 1, in the same database or in one of its own. */
import { expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { opencode } from "../../../src/agents/opencode/opencode.ts"
import { transcriptFilesBelow } from "../../../src/job/find-transcripts.ts"
import { opencodeSessions, readDatabase } from "../../../src/job/import/opencode-store.ts"
import { takeOpencode } from "../../../src/job/import/take-opencode.ts"
import { vaultFile } from "../../../src/vault/layout.ts"
import { settlePending } from "../../../src/vault/pending.ts"
import { index } from "../../../src/views/indexing.ts"
import { Archive } from "../../support/archive.ts"
import { contentOf } from "../../support/machine.ts"
import {
  conversation2,
  MODEL_2,
  OpencodeStore2,
  SESSION_2,
  TOKENS_2,
  usedTool,
} from "../../support/opencode-2-store.ts"
import { called, OpencodeStore, said } from "../../support/opencode-store.ts"
import { namedViews } from "../../support/views.ts"

const LATER = Date.UTC(2030, 0, 1)

function follow(archive: Archive, path: string, now = LATER) {
  const taken = takeOpencode({ dataHome: archive.dataHome, home: archive.root }, path, { now })
  archive.db.transaction(() => index(archive.db, archive.dataHome, taken, () => false)).immediate()
  settlePending(archive.dataHome, taken.copy)
  return taken
}

const heldIn = (archive: Archive, copy: string): string =>
  contentOf(vaultFile(archive.dataHome, copy)).toString()
const linesOf = (archive: Archive, copy: string): Record<string, unknown>[] =>
  heldIn(archive, copy)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))
const rows = (archive: Archive, sql: string): unknown[][] => archive.db.query(sql).values()

test("turns, calls, tokens, title and boundary of each kind of row", () => {
  using archive = new Archive()
  using store = conversation2(archive.root)
  follow(archive, store.path)
  expect(
    rows(archive, "SELECT prompt, answer, tools, errors FROM turns WHERE via <> 'none' ORDER BY seq"),
  ).toEqual([
    ["Why does the kiln overheat?", "I look again.", 2, 1],
    ["!ls", "It opens slowly now.", 1, 0],
  ])
  expect(rows(archive, "SELECT name, target, is_error FROM tool_calls ORDER BY id")).toEqual([
    ["grep", "valve", 0],
    ["shell", "npm test", 1],
    ["bash", "ls", 0],
  ])
  expect(rows(archive, "SELECT model, sum(input), sum(cache_read), sum(output) FROM usage")).toEqual([
    ["m2", 1800, 4200, 450],
  ])
  expect(archive.count("boundaries WHERE trigger = 'auto'")).toBe(1)
  expect(rows(archive, "SELECT program, version, title FROM sessions")).toEqual([
    ["opencode", "2.0.3", "Kiln overheats"],
  ])
})

test("taken after each change, they are as if all had been taken at once", () => {
  using whole = new Archive()
  using bitwise = new Archive()
  using all = conversation2(whole.root)
  follow(whole, all.path)
  using _store = conversation2(bitwise.root, (store) => follow(bitwise, store.path, store.time))
  follow(bitwise, _store.path)
  const views = (archive: Archive) => JSON.stringify(namedViews(archive.db)).replaceAll(archive.root, "ROOT")
  expect(views(bitwise)).toBe(views(whole))
  expect(follow(bitwise, _store.path).captured.taken).toBe(0)
})

test("an answer that grows in its row is told once it is whole", () => {
  using archive = new Archive()
  using store = new OpencodeStore2(archive.root)
  store.row("user", { text: "Why?" })
  const time = { created: store.time + 1000 }
  const running = {
    type: "tool",
    id: "c",
    name: "shell",
    state: { status: "running", input: { command: "make" } },
  }
  const about = { agent: "build", model: MODEL_2 }
  const id = store.assistant([{ type: "text", text: "I ma" }], { ...about, time })
  follow(archive, store.path, store.time)
  store.change(id, { ...about, time, content: [{ type: "text", text: "I make it." }, running] })
  follow(archive, store.path, store.time)
  const done = {
    ...running,
    state: { ...running.state, status: "completed", content: [{ type: "text", text: "made" }] },
  }
  const content = [{ type: "text", text: "I make it." }, done, { type: "text", text: "It is made." }]
  store.change(id, { ...about, content, time: { ...time, completed: store.time } })
  follow(archive, store.path, store.time)
  expect(rows(archive, "SELECT prompt, answer, tools FROM turns WHERE via <> 'none'")).toEqual([
    ["Why?", "It is made.", 1],
  ])
  expect(archive.count("tool_calls")).toBe(1)
})

test("a command of the user's that runs on is told once, with what it has printed", () => {
  using archive = new Archive()
  using store = new OpencodeStore2(archive.root)
  const time = { created: store.time + 1000 }
  const command = { callID: "c1", command: "make" }
  const id = store.row("shell", { ...command, output: "", time })
  follow(archive, store.path, store.time + 20_000)
  store.change(id, { ...command, output: "zinc", time: { ...time, completed: store.time } })
  const { copy } = follow(archive, store.path, store.time + 20_000)
  expect(rows(archive, "SELECT prompt, tools FROM turns")).toEqual([["!make", 1]])
  const results = linesOf(archive, copy).filter(({ opencode }) => opencode === "result")
  expect(results).toMatchObject([{ data: { state: { output: "zinc" } } }])
  expect(results[0]).not.toHaveProperty("again")
})

test("a summary is whole when it is written, though nothing says that it has ended", () => {
  using archive = new Archive()
  using store = new OpencodeStore2(archive.root)
  store.row("compaction", { reason: "manual", summary: "The valve sticks.", time: { created: store.time } })
  const { copy } = follow(archive, store.path, store.time + 20_000)
  expect(linesOf(archive, copy).filter(({ open }) => open === true)).toEqual([])
  expect(linesOf(archive, copy).at(-1)).toMatchObject({ opencode: "message", isSummary: true })
})

test("what is not as others describe it is kept, and makes no words of its own", () => {
  using archive = new Archive()
  using store = new OpencodeStore2(archive.root)
  const image = { type: "file", mime: "image/png", uri: "data:image/png;base64,cGljdHVyZQ==" }
  const odd = usedTool("read", { path: "/a" }, "", {
    status: "error",
    error: { message: "no", code: "E-ODD" },
  })
  store.row("user", {
    text: { odd: "odd-text" },
    files: [{ data: { odd: "odd-file" } }],
    skills: [{ name: "odd-skill" }],
  })
  store.assistant([{ ...odd, state: { ...odd.state, content: [{ type: "text", text: "x" }, image] } }])
  store.assistant([], { content: "odd-content" })
  store.row("shell", { output: { exit: 1, odd: "odd-output" } })
  store.row("compaction", { reason: "odd-reason", summary: { odd: "odd-summary" } })
  const text = JSON.stringify(linesOf(archive, follow(archive, store.path).copy))
  const kept = ["text", "file", "skill", "content", "output", "reason", "summary"].map(
    (name) => `odd-${name}`,
  )
  for (const words of [...kept, "E-ODD", image.uri]) expect(text).toContain(words)
  expect(archive.count("turns WHERE via <> 'none'")).toBe(0)
})

test("a session without a time of change is followed by its messages'", () => {
  using archive = new Archive()
  using store = new OpencodeStore2(archive.root)
  store.db.run("CREATE TABLE kept AS SELECT * FROM session_v2")
  store.db.run("DROP TABLE session_v2")
  store.db.run("ALTER TABLE kept RENAME TO session_v2")
  store.onChange = () => store.db.run("UPDATE session_v2 SET time_updated = NULL")
  for (const text of ["Why?", "And how?"]) {
    store.row("user", { text })
    follow(archive, store.path)
  }
  expect(rows(archive, "SELECT prompt FROM turns ORDER BY seq")).toEqual([["Why?"], ["And how?"]])
})

test("beside opencode 1: each session is listed once, and what both have of one counts once", () => {
  using archive = new Archive()
  const cwd = join(archive.root, "p")
  using old = new OpencodeStore({ data: join(archive.root, ".local/share"), cwd, session: SESSION_2 })
  old
    .prompt("Why does the kiln overheat?")
    .assistant([said("The valve."), called("grep", { pattern: "v" }, "x")])
  follow(archive, old.path)
  using store = new OpencodeStore2(archive.root)
  const ids = old.db.query<{ id: string; data: string }, []>("SELECT id, data FROM message ORDER BY id").all()
  store.row("user", { ...JSON.parse(ids[0]!.data), text: "Why does the kiln overheat?" }, ids[0]!.id)
  store.assistant([{ type: "text", text: "The valve." }], JSON.parse(ids[1]!.data))
  store.db.query("UPDATE session_message SET id = ? WHERE seq = 2").run(ids[1]!.id)
  store.row("user", { text: "Mend it." })
  store.assistant([{ type: "text", text: "Mended." }])
  using other = new OpencodeStore2(archive.root, { session: "ses_0003synthetic" })
  other.row("user", { text: "Paint it." })
  const listed = transcriptFilesBelow(join(archive.root, ".local/share/opencode")).map(({ path }) => path)
  expect(listed.sort()).toEqual([store.path, other.path])
  follow(archive, store.path)
  expect(rows(archive, "SELECT prompt, answer FROM turns WHERE via <> 'none' ORDER BY seq")).toEqual([
    ["Why does the kiln overheat?", "The valve."],
    ["Mend it.", "Mended."],
  ])
  expect(archive.count("tool_calls")).toBe(1)
})

test("what an upgrade has made of a message of opencode 1 is not told again", () => {
  using archive = new Archive()
  const cwd = join(archive.root, "p")
  using old = new OpencodeStore({ data: join(archive.root, ".local/share"), cwd, session: SESSION_2 })
  old.prompt("Why does the kiln overheat?").assistant([said("The valve.")])
  const ids = old.db.query<{ id: string }, []>("SELECT id FROM message ORDER BY id").all()
  using store = new OpencodeStore2(archive.root)
  store.row("user", { text: "Why does the kiln overheat?" }, ids[0]!.id)
  store.row("synthetic", { text: "Split off by the upgrade." })
  store.row("assistant", { content: [{ type: "text", text: "The valve." }] }, ids[1]!.id)
  store.row("system", { text: "The tools have changed." })
  follow(archive, store.path)
  const copy = heldIn(archive, follow(archive, store.path).copy)
  expect(copy).not.toContain("Split off by the upgrade.")
  expect(copy).toContain("The tools have changed.")
})

test("a preview of opencode 2: its rows beside sessions of opencode 1 are read where that has no messages", () => {
  using archive = new Archive()
  const data = join(archive.root, ".local/share")
  using old = new OpencodeStore({ data, cwd: join(archive.root, "p"), session: "ses_0001synthetic" })
  old.prompt("Mend the kiln.").assistant([said("Mended.")])
  using store = new OpencodeStore2(archive.root, { sessions: "session" })
  store.row("user", { text: "Paint the kiln." })
  store.assistant([{ type: "text", id: "text-0", text: "Painted." }])
  // Versions of opencode 1 have noted some things there, too, under other ids.
  store.db
    .query("INSERT INTO session_message VALUES ('msg_x', 'ses_0001synthetic', 'user', 1, 1, 1, ?)")
    .run(JSON.stringify({ text: "Mend the kiln.", time: { created: 1 } }))
  for (const { path } of transcriptFilesBelow(join(data, "opencode"))) follow(archive, path)
  expect(rows(archive, "SELECT prompt, answer FROM turns WHERE via <> 'none' ORDER BY prompt")).toEqual([
    ["Mend the kiln.", "Mended."],
    ["Paint the kiln.", "Painted."],
  ])
})

test("a command of the user's is told with what it has printed, however long it runs", () => {
  using archive = new Archive()
  using store = new OpencodeStore2(archive.root)
  const about = { shellID: "sh_1", command: "make" }
  const time = { created: store.time + 1000 }
  const id = store.row("shell", { ...about, status: "running", time: { ...time, completed: undefined } })
  follow(archive, store.path, LATER)
  const output = { output: "kiln.o failed", cursor: 13, size: 13, truncated: false }
  store.change(id, { ...about, status: "exited", exit: 2, output, time: { ...time, completed: store.time } })
  follow(archive, store.path, LATER)
  expect(rows(archive, "SELECT name, target, is_error FROM tool_calls")).toEqual([["bash", "make", 1]])
  expect(rows(archive, "SELECT prompt, tools, errors FROM turns WHERE via <> 'none'")).toEqual([
    ["!make", 1, 1],
  ])
})

test("a compaction's request is counted, with its model", () => {
  using archive = new Archive()
  using store = new OpencodeStore2(archive.root)
  store.row("user", { text: "Why?" })
  store.assistant([{ type: "text", text: "Because." }])
  const summary = { reason: "manual", status: "completed", summary: "All is well.", recent: "" }
  store.row("compaction", {
    ...summary,
    model: { id: "m3", providerID: "mock" },
    tokens: TOKENS_2,
    cost: 0.01,
  })
  follow(archive, store.path)
  expect(rows(archive, "SELECT model, sum(input), sum(output) FROM usage GROUP BY model ORDER BY 1")).toEqual(
    [
      ["m2", 600, 150],
      ["m3", 600, 150],
    ],
  )
})

test("a command that failed, a step that was stopped, and an image in a result", () => {
  using archive = new Archive()
  using store = new OpencodeStore2(archive.root)
  store.row("user", { text: "Why?" })
  const image = { type: "file", uri: "data:image/png;base64,aGVsbG8=", mime: "image/png", name: "kiln.png" }
  store.assistant([
    usedTool("shell", { command: "npm test" }, "1 failed", { structured: undefined, metadata: { exit: 1 } }),
    {
      ...usedTool("read", { path: "kiln.png" }, "", {
        content: [{ type: "text", text: "An image." }, image],
      }),
      id: "call_2",
    },
  ])
  store.assistant([{ type: "text", text: "I lo" }], {
    error: { type: "aborted", message: "Step interrupted" },
  })
  follow(archive, store.path)
  expect(rows(archive, "SELECT name, is_error FROM tool_calls ORDER BY id")).toEqual([
    ["shell", 1],
    ["read", 0],
  ])
  const parts = heldIn(archive, follow(archive, store.path).copy)
    .split("\n")
    .flatMap((line) => opencode.decode(line).parts)
  expect(parts.filter(({ kind }) => kind === "interrupt" || kind === "media" || kind === "apiError")).toEqual(
    [
      { kind: "media", mediaType: "image/png", base64Length: 8 },
      { kind: "interrupt", text: "Step interrupted" },
    ],
  )
})

test("a fork has rows under other ids, and what it shares counts once", () => {
  using archive = new Archive()
  using store = conversation2(archive.root)
  follow(archive, store.path)
  const counts = () => rows(archive, "SELECT count(*), sum(input), sum(output) FROM usage")
  const before = counts()
  using fork = new OpencodeStore2(archive.root, { session: "ses_0003synthetic" })
  store.db.run(`UPDATE session_v2 SET fork_session_id = '${SESSION_2}' WHERE id = 'ses_0003synthetic'`)
  store.db.run(
    `INSERT INTO session_message SELECT 'msg_fork_' || seq, 'ses_0003synthetic', type, seq, time_created, time_updated, data
     FROM session_message WHERE session_id = '${SESSION_2}'`,
  )
  follow(archive, fork.path)
  expect(counts()).toEqual(before)
})

test("what an undo has removed from its tables stays in the archive", () => {
  using archive = new Archive()
  using store = conversation2(archive.root)
  follow(archive, store.path)
  store.db.run("DELETE FROM session_message WHERE seq > 6")
  store.row("user", { text: "Instead, paint it." }, "msg_instead")
  expect(follow(archive, store.path).captured.state).toBe("current")
  const prompts = rows(archive, "SELECT prompt FROM turns WHERE via <> 'none' ORDER BY seq").flat()
  expect(prompts).toEqual(["Why does the kiln overheat?", "!ls", "Instead, paint it."])
})

test("a bad row hides no other, and tables that nobody knows are named beside those that are read", () => {
  using archive = new Archive()
  const data = join(archive.root, ".local/share")
  const store = new OpencodeStore2(archive.root)
  const insert = store.db.query("INSERT INTO session_message VALUES (?, ?, ?, ?, 1, 1, ?)")
  for (const [n, bad] of ["{broken", "null", "[]", '"text"', new Uint8Array([255, 0, 254])].entries())
    for (const type of ["user", "assistant", "compaction", "shell", "tool"])
      insert.run(`msg_bad_${type}${n}`, SESSION_2, type, 50 + n, bad)
  store.row("user", { text: ["no text"], files: "none", skills: 7 }, "msg_odd")
  store.row("assistant", { content: ["no part", null, { type: "tool", state: "gone" }] }, "msg_odd2")
  store.row("user", { text: "Why does the kiln overheat?" }, "msg_good")
  follow(archive, store.path)
  expect(rows(archive, "SELECT prompt FROM turns WHERE via <> 'none'").flat()).toContain(
    "Why does the kiln overheat?",
  )
  using old = new OpencodeStore({ data, cwd: join(archive.root, "p"), session: "ses_0001synthetic" })
  old.prompt("Mend the kiln.")
  store.db.run("ALTER TABLE session_v2 RENAME COLUMN directory TO place")
  store[Symbol.dispose]()
  const unreadable: string[] = []
  const onUnreadable = (file: string) => unreadable.push(file)
  const found = opencodeSessions(join(data, "opencode"), onUnreadable)
  expect(found.map(({ id }) => id)).toEqual(["ses_0001synthetic"])
  expect(unreadable).toEqual([old.file])
  expect(() => readDatabase(old.file)).toThrow("the table session_v2 is not as opencode has it")
})

test("a damaged table hides no session of the other", () => {
  using archive = new Archive()
  const data = join(archive.root, ".local/share")
  const old = new OpencodeStore({ data, cwd: join(archive.root, "p"), session: SESSION_2 })
  old.prompt("Mend the kiln.")
  const store = new OpencodeStore2(archive.root)
  store.row("user", { text: "Paint the kiln." })
  const { page, size } = store.db
    .query<{ page: number; size: number }, []>(
      `SELECT rootpage AS page, page_size AS size FROM sqlite_schema, pragma_page_size WHERE name = 'session_message'`,
    )
    .get()!
  for (const { db } of [store, old]) db.close()
  const bytes = readFileSync(old.file)
  writeFileSync(old.file, bytes.fill(255, (page - 1) * size, page * size))
  const unreadable: string[] = []
  const found = opencodeSessions(join(data, "opencode"), (file) => unreadable.push(file))
  expect(found.map(({ id }) => id)).toEqual([SESSION_2])
  expect(unreadable).toEqual([old.file])
  follow(archive, old.path)
  expect(rows(archive, "SELECT prompt FROM turns WHERE via <> 'none'")).toEqual([["Mend the kiln."]])
})
