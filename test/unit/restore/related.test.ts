import { describe, expect, test } from "bun:test"
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { HASHED_ID } from "../../../src/find/embed/hashed-words.ts"
import { quantise, toLengthOne } from "../../../src/find/embed/quantise.ts"
import { gather, movesIn } from "../../../src/restore/gather.ts"
import { renderRestore } from "../../../src/restore/render.ts"
import { withLastChanges } from "../../../src/restore/restore.ts"
import type { Database } from "../../../src/views/database.ts"
import { ArchivedLines } from "../../../src/views/records.ts"
import { packVectors, putVectors } from "../../../src/views/vectors.ts"
import { Archive } from "../../support/archive.ts"
import { frameProblems } from "../../support/frame.ts"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { Transcript } from "../../support/transcript.ts"

/** Lines of other sessions: whose they may be, in which order they come, and what of them is seen. */
describe("related", () => {
  const HERE = "Is the roof of the otter holt done?"

  function archived(archive: Archive, sessions: Readonly<Record<string, string>>): void {
    for (const [id, prompt] of Object.entries(sessions)) {
      archive.follow(archive.session(id).turn(prompt, [], `Answer of ${id}`).flush())
    }
  }

  const answers = (db: Database, session = "here"): string[] =>
    gather(db, session, { related: 3 }).related.map(({ answer }) => answer)

  /** A vector of the turn that the session begins with, in a plane: 0° and 90° have nothing in common. */
  function putVector(db: Database, session: string, embedder: string, degrees: number): void {
    const { id, last } = db
      .query<{ id: number; last: number }, [string]>(
        "SELECT id, last FROM turns WHERE session = ? AND seq = 1",
      )
      .get(session)!
    const values = new Float32Array(384)
    values[0] = Math.cos((degrees * Math.PI) / 180)
    values[1] = Math.sin((degrees * Math.PI) / 180)
    const vectors = packVectors([{ message: id, ...quantise(toLengthOne(values)) }], 384)
    putVectors(db, [{ turn: id, embedder, dimension: 384, last, vectors }])
  }

  test("a model's vectors choose among turns related by their words", () => {
    using archive = new Archive()
    const { db } = archive
    archived(archive, {
      here: HERE,
      first: "The otter holt has a roof, and below it two doors and a chimney of clay",
      second: "The roof of the otter holt",
    })
    const byWords = ["Answer of second", "Answer of first"]
    expect(answers(db)).toEqual(byWords)
    // What hashed words find alike says nothing new.
    for (const [session, degrees] of [
      ["here", 0],
      ["first", 10],
      ["second", 80],
    ] as const)
      putVector(db, session, HASHED_ID, degrees)
    expect(answers(db)).toEqual(byWords)
    putVector(db, "here", "model-a", 0)
    expect(answers(db)).toEqual(byWords)
    // Of another model: not compared.
    putVector(db, "first", "model-b", 10)
    expect(answers(db)).toEqual(byWords)
    putVector(db, "first", "model-a", 10)
    putVector(db, "second", "model-a", 80)
    expect(answers(db)).toEqual(["Answer of first", "Answer of second"])
  })

  test.each([
    ["half a vector", "dimension = 384, vectors = substr(vectors, 1, 100)"],
    ["a dimension below zero", "dimension = -8"],
    ["none, of an endless dimension", "dimension = 9007199254740991, vectors = x''"],
  ])("a damaged vector is not compared: %s", (_name, damage) => {
    using archive = new Archive()
    const { db } = archive
    archived(archive, {
      here: HERE,
      first: "The otter holt has a roof, and below it two doors and a chimney of clay",
      second: "The roof of the otter holt",
    })
    putVector(db, "here", "model-a", 0)
    putVector(db, "first", "model-a", 10)
    putVector(db, "second", "model-a", 80)
    expect(answers(db)).toEqual(["Answer of first", "Answer of second"])
    db.run(`UPDATE vectors SET ${damage} WHERE turn IN (SELECT id FROM turns WHERE session = 'here')`)
    expect(answers(db)).toEqual(["Answer of second", "Answer of first"])
  })

  test("similarity alone does not make a turn related", () => {
    using archive = new Archive()
    archived(archive, { here: HERE, other: "Paint the fence" })
    putVector(archive.db, "here", "model-a", 0)
    putVector(archive.db, "other", "model-a", 0)
    expect(answers(archive.db)).toEqual([])
  })

  test("nothing from a session joined by a fork, nor from the one before /clear", () => {
    using archive = new Archive()
    const { db } = archive
    const text = "The otter holt has a roof"
    archived(archive, { here: HERE, parent: text, sibling: text, cleared: text, before: text, other: text })
    const join = db.query("INSERT INTO lineage (child, parent, kind) VALUES (?, ?, ?)")
    join.run("here", "parent", "fork")
    join.run("sibling", "parent", "fork")
    join.run("here", "cleared", "clear")
    // Not given when this session began: that was the restore of the one after it.
    join.run("cleared", "before", "clear")
    expect(answers(db).sort()).toEqual(["Answer of before", "Answer of other"])
  })

  test("a long prompt is shown from where the words are", () => {
    using archive = new Archive()
    const { db } = archive
    archived(archive, { here: HERE, other: `${"Well, ".repeat(60)}the otter holt has a roof` })
    const [line] = gather(db, "here", { related: 3 }).related
    expect(line!.prompt).toBe("… Well, Well, Well, the otter holt has a roof")
    expect(line!.words).toEqual(["otter", "roof", "holt"])
  })

  /** A session that only edited what another had edited was told of none. */
  test("the turn that changed the same files last, if several: most of them", () => {
    using archive = new Archive()
    const { db } = archive
    const changing = (id: string, prompt: string, ...paths: string[]): void => {
      const steps = paths.map((path) => ({
        tool: "Edit",
        input: { file_path: `/shop/${path}`, old_string: "a", new_string: "b" },
        output: "edited",
      }))
      archive.follow(archive.session(id).turn(prompt, steps, `Done in ${id}`).flush())
    }
    changing("first", "Cut the roof to size", "holt.ts", "roof.ts")
    changing("second", "Paint it", "roof.ts")
    changing("third", "Weigh the door", "door.ts")
    changing("here", "Go on", "holt.ts", "roof.ts", "door.ts", "new.ts")
    db.run("INSERT INTO lineage (child, parent, kind) VALUES ('third', 'here', 'fork')")
    const shown = (related: number): string[] =>
      renderRestore(gather(db, "here", { related }), {
        source: "compact",
        budget: 4000,
        summary: "",
        related,
      })
        .split("\n")
        .filter((line) => line.includes(", changed "))
        .map((line) => line.replace(/^- ctx:\w+ /, ""))
    expect(shown(3)).toEqual(['"Paint it" (2026-03-02, changed `/shop/roof.ts`)'])
    expect(shown(0)).toEqual([])
    expect(gather(db, "here").related).toEqual([])
    changing("fourth", "Hang both", "holt.ts", "door.ts")
    expect(shown(3)[0]).toEqual('"Hang both" (2026-03-02, changed `/shop/door.ts`, `/shop/holt.ts`)')
    db.run("UPDATE turns SET taken_back = 1 WHERE session = 'fourth'")
    expect(shown(3)[0]).toContain("Paint it")
  })

  test("as many as wanted, within their room, and none with 0", () => {
    using archive = new Archive()
    const { db } = archive
    const other = (n: number) => [`s${n}`, `The otter holt has a roof, number ${n}`] as const
    archived(archive, { here: HERE, ...Object.fromEntries([1, 2, 3, 4].map(other)) })
    const lines = (related: number, budget = 9500): number =>
      renderRestore(gather(db, "here", { related }), { source: "compact", budget, summary: "", related })
        .split("\n")
        .filter((line) => line.includes("Answer of s")).length
    expect([0, 1, 2, 3].map((related) => lines(related))).toEqual([0, 1, 2, 3])
    expect(lines(3, 450)).toBe(1)
  })

  test("an unreadable index loses these lines and nothing else", () => {
    using archive = new Archive()
    const { db } = archive
    archived(archive, { here: HERE, other: "The otter holt has a roof" })
    expect(answers(db)).toHaveLength(1)
    db.run("DROP TABLE words")
    expect(() => db.query("SELECT rowid FROM words WHERE words MATCH 'otter'").all()).toThrow()
    const { related, turns } = gather(db, "here", { related: 3 })
    expect(related).toEqual([])
    expect(turns).toHaveLength(1)
  })
})

/** Files that were changed last, where they are now. */
describe("files in flight", () => {
  const REFUSED =
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the " +
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."

  /** Spelled in parts, so that nothing takes this file for one with a secret. */
  const SECRET = `gh${"p_"}${"7Kd2mQx9RtB4vN1zLs8c".repeat(2).slice(0, 36)}`

  /**
   * Of a turn that changes many files, those that come first in the alphabet were told as "written or edited last"; and
   * changes that were refused, or failed, were told as made.
   */
  test("the files changed last are told, the newest first", async () => {
    using machine = new Inside()
    const names = ["zebra", "yak", "ant", "bee", "cat", "dog", "eel"]
    const session = machine.session({ version: "1.0.0" })
    session.turn(
      "Write them all",
      names.toReversed().map((name) => ({
        tool: "Write",
        input: { file_path: `/w/${name}.ts`, content: "export {}" },
        output: "File created successfully",
      })),
    )
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    const told = [...given.matchAll(/^- `\/w\/(\w+)\.ts`: written, 1 line \(/gm)].map(([, name]) => name)
    expect(told).toEqual(names.slice(0, 5))
  })

  test("what was not changed is neither in flight nor blamed", async () => {
    using machine = new Inside()
    const edit = (path: string, output: string, isError: boolean) => ({
      tool: "Edit",
      input: { file_path: path, old_string: "a", new_string: "b" },
      output,
      isError,
    })
    const session = machine.session()
    session.turn("Change both", [
      edit("/w/made.ts", "The file has been updated", false),
      edit(
        "/w/made.ts",
        "<tool_use_error>String to replace not found in file.\nString: a</tool_use_error>",
        true,
      ),
      edit("/w/refused.ts", REFUSED, true),
    ])
    await machine.hook("stop", session.flush())
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given).toContain("## Files in flight\n")
    expect(given).toContain("made.ts`: edited (")
    expect(given).not.toContain("refused.ts`: edit")
    expect(await run(["blame", "made.ts", "--json"], machine)).toMatchObject({ code: 0, stderr: "" })
    expect(await run(["blame", "refused.ts", "--json"], machine)).toMatchObject({ code: 3 })
  })

  /** "edit, 16 times" told nothing of what had been done. */
  describe("what was last done to each", () => {
    const told = async (machine: Machine, session: Transcript): Promise<string[]> => {
      await machine.hook("stop", session.flush())
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
      expect(frameProblems(given)).toEqual([])
      return given
        .split("## Files in flight\n")[1]!
        .split("\n## ")[0]!
        .split("\n")
        .map((line) => line.slice(2, -13))
    }
    const edit = (name: string, old_string: string, new_string: string) => ({
      tool: "Edit",
      input: { file_path: `/w/${name}`, old_string, new_string },
      output: "The file has been updated",
    })

    test("the first telling line of the last change, or how much was written", async () => {
      using machine = new Inside()
      const session = machine
        .session({ version: "1.0.0" })
        .turn("Change them", [
          edit("gone.ts", "open(door)\nshut(door)", "shut(door)"),
          edit("door.ts", "x", "first(change)"),
          { tool: "Write", input: { file_path: "/w/new.ts", content: "a\nb\n" }, output: "File created" },
          edit("door.ts", "const WIDTH = 3", `// Wider.\nconst WIDTH = ${"4".repeat(80)}`),
          edit("key.ts", "x", `const key = ${SECRET}`),
        ])
      expect(await told(machine, session)).toEqual([
        // The filler that stands in the vault.
        expect.stringMatching(/^`\/w\/key\.ts`: added "const key = (?!gh).+"$/),
        `\`/w/door.ts\`: added "const WIDTH = ${"4".repeat(45)}…"`,
        "`/w/new.ts`: written, 2 lines",
        '`/w/gone.ts`: removed "open(door)"',
      ])
    })

    test("shorter, so that all have room", async () => {
      using machine = new Inside()
      const names = ["a", "b", "c", "d", "e"].map((name) => `${name.repeat(30)}.ts`)
      const session = machine.session({ version: "1.0.0" }).turn(
        "Change them",
        names.map((name) => edit(name, "", `openTheDoor(${"9".repeat(60)})`)),
      )
      const lines = await told(machine, session)
      expect(lines).toHaveLength(5)
      for (const line of lines) expect(line).toMatch(/: added "openTheDoor\(9+…"$/)
    })

    test("not in a subagent's words", () => {
      using archive = new Archive()
      const session = archive.session("s1").turn("Let it be changed").flush()
      archive.follow(session)
      const path = join(session.path.replace(/\.jsonl$/, ""), "subagents", "agent-a1.jsonl")
      const agent = new Transcript({ ...session.options, path, agent: "a1" })
      archive.follow(agent.turn("Change it", [edit("door.ts", "", "wordsOfTheSubagent()")]).flush())
      const { files } = gather(archive.db, "s1")
      const told = withLastChanges(archive.db, files, new ArchivedLines(archive.dataHome)).map(
        ({ path, change }) => [path, change],
      )
      expect(told).toEqual([["/w/door.ts", undefined]])
    })

    test("nothing of it where the vault lost the line, or it is too long", async () => {
      using archive = new Archive()
      const session = archive
        .session("s1")
        .turn("Change them", [edit("long.ts", "", "x".repeat(70_000)), edit("door.ts", "", "open(door)")])
      const taken = archive.follow(session.flush())
      const { files } = gather(archive.db, "s1")
      const changes = () =>
        withLastChanges(archive.db, files, new ArchivedLines(archive.dataHome)).map(({ change }) => change)
      expect(changes()).toEqual([{ added: "open(door)" }, undefined])
      rmSync(archive.file(taken))
      expect(changes()).toEqual([undefined, undefined])
    })
  })

  /** "Files in flight" named files that a command had moved or deleted since. */
  describe("files that were moved or deleted", () => {
    const moves = (script: string) =>
      movesIn(script, "/w", () => true).map(({ from, to }) => `${from} → ${to ?? "?"}`)

    test.each([
      ["git mv a.ts b.ts", ["/w/a.ts → /w/b.ts"]],
      ["mv -f './my door.ts' src/", ["/w/my door.ts → /w/src/my door.ts"]],
      ["cd app && git mv a.ts ../b.ts && git status", ["/w/app/a.ts → /w/b.ts"]],
      ["cd /v/app && rm -rf out ../old.ts", ["/v/app/out → ?", "/v/old.ts → ?"]],
      ["mv a.ts b.ts src", ["/w/a.ts → /w/src/a.ts", "/w/b.ts → /w/src/b.ts"]],
      ["git mv docs/kiln docs/archive/2026-kiln", ["/w/docs/kiln → /w/docs/archive/2026-kiln"]],
      // It may be a folder, and then it stands within.
      ["mv kiln oven", ["/w/kiln → ?"]],
      ["git rm -q a.ts && git diff | head -3", ["/w/a.ts → ?"]],
      // Not plain, or nobody knows whether it did so.
      ["rm *.ts", []],
      ['mv "$A" b.ts', []],
      ["git rm --cached a.ts", []],
      ["mv -n a.ts b.ts", []],
      ["mv -t src a.ts", []],
      ["rm a.ts; ls", []],
      ["rm a.ts || true", []],
      ["rm a.ts 2>/dev/null", []],
      ["cd - && rm a.ts", []],
      ["npm rm kiln", []],
    ])("%s", (script, told) => expect(moves(script)).toEqual(told))

    test("a restore tells of each where it is now", async () => {
      using machine = new Inside()
      const { cwd } = machine
      // Five paths have to fit however long the folder for temporary files is called.
      machine.env["CTXBRIDGE_RESTORE_BUDGET"] = "9500"
      const session = machine.session()
      const edit = (name: string) => ({
        tool: "Edit",
        input: { file_path: `${cwd}/${name}`, old_string: "a", new_string: "b" },
        output: "ok",
      })
      const bash = (command: string, isError = false) => ({
        tool: "Bash",
        input: { command },
        output: isError ? "Exit code 1\nno" : "",
        isError,
      })
      session.turn("Change them", [
        edit("door.ts"),
        edit("shelf.ts"),
        edit("kept.ts"),
        // The shell may stand in the folder of the other.
        edit("index.ts"),
        edit("sub/index.ts"),
        bash("rm index.ts"),
        edit("sub/door.test.ts"),
        edit("door.test.ts"),
        bash(`cd ${cwd} && rm door.test.ts && cd sub && rm door.test.ts`),
        edit("again.ts"),
        edit("door.ts"),
        bash("git mv door.ts src/gate.ts && git status --short"),
        bash("rm shelf.ts again.ts && cat kept.ts"),
        // Nobody knows which of these has failed, nor where the one ends in the views.
        bash("rm kept.ts\ncat door.ts"),
        bash("rm sub/index.ts", true),
        edit("again.ts"),
        edit("src/gate.ts"),
      ])
      await machine.hook("stop", session.flush())
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
      const [, section = ""] = given.split("## Files in flight\n")
      const lines = section.split("\n## ")[0]!.split("\n")
      const files = lines.map((line) => /^- `([^`]+)`: /.exec(line)?.[1])
      expect(files.map((file) => file?.replace(`${cwd}/`, ""))).toEqual([
        "src/gate.ts",
        "again.ts",
        "sub/index.ts",
        "index.ts",
        "kept.ts",
      ])
    })
  })
})

/** What the user writes behind `/compact` decides which other turns a restore tells of. */
describe("focus", () => {
  const QUEUE = "Webhooks get lost when Redis restarts. Make the retry queue durable."
  const LABELS = "The shipping labels of parcels to Norway miss the customs number"
  const LABELS_AGAIN = "Parcels to Norway still miss the customs number on their shipping labels"

  /** Two sessions that are over, about a queue and about labels; and one under way, about labels. */
  async function shop(machine: Machine): Promise<Transcript> {
    for (const prompt of [QUEUE, LABELS]) {
      const before = machine.session().turn(prompt, [], "It is done.").flush()
      await machine.hook("stop", before)
    }
    const session = machine.session().turn(LABELS_AGAIN, [], "I will look at the form.").flush()
    await machine.hook("stop", session)
    expect(await run(["status"], { env: machine.env, cwd: machine.cwd })).toMatchObject({
      code: 0,
      stderr: "",
    })
    return session
  }

  /** Lines about other sessions in the restore after this compaction. */
  async function related(machine: Machine, session: Transcript, words: string | null, isMissed = false) {
    await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: words })
    session.boundary("manual").summary("Nothing of note.").flush()
    const given = contextOf(
      isMissed
        ? await machine.hook("user-prompt-submit", session, { prompt: "go on" })
        : await machine.hook("session-start", session, { source: "compact" }),
    )
    expect(frameProblems(given!)).toEqual([])
    const section = given!.split("\n## ").find((text) => text.startsWith("Related turns")) ?? ""
    return section
      .split("\n")
      .filter((line) => line.startsWith("- "))
      .map((line) => ["Redis", "Norway"].find((name) => line.includes(name)))
  }

  /** `/compact <words>`: the restore after it did not know what the user had asked the compaction to mind. */
  test("turns about the words behind /compact come first, and those about the session behind them", async () => {
    using machine = new Inside()
    const session = await shop(machine)
    expect(await related(machine, session, "keep what we know about the durable Redis retry queue")).toEqual([
      "Redis",
      "Norway",
    ])
    session.turn("and on").flush()
    await machine.hook("stop", session)
    // They are asked of that compaction alone.
    expect(await related(machine, session, "")).not.toContain("Redis")
  })

  test("without words, or with words that say nothing, turns about the session come", async () => {
    for (const words of [null, "", "be brief, please", "focus on the tests"]) {
      using machine = new Inside()
      expect(await related(machine, await shop(machine), words)).toEqual(["Norway"])
    }
  })

  test("the words count also at the prompt after a compaction that was missed", async () => {
    using machine = new Inside()
    const session = await shop(machine)
    expect(await related(machine, session, "focus on the Redis queue", true)).toContain("Redis")
  })

  test("secrets among the words are not kept", async () => {
    using machine = new Inside()
    const session = await shop(machine)
    const secret = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`
    await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: `mind ${secret}` })
    const state = readFileSync(join(machine.dataHome, "sessions", `${session.session}.json`), "utf8")
    expect(JSON.parse(state).focus).toBe(`mind ${"*".repeat(40)}`)
  })

  /** They steered only what came of other sessions: of the session itself, the latest came whatever the user asked for. */
  test("the words bring what the session itself has about them, however long ago", async () => {
    const restoreFor = async (words: string | null): Promise<string> => {
      using machine = new Inside()
      const session = machine.session()
      const queue = "The webhook queue was made durable: Redis streams, group `hooks`."
      session.turn(
        QUEUE,
        [write(machine, "queue/durable.ts")],
        `${queue} I chose streams over lists because they keep acknowledgements.`,
      )
      for (let n = 0; n < 90; n++) {
        const answer =
          n < 40 ? `I chose grid ${n} rather than flexbox because it aligns.` : `Page ${n} is aligned.`
        session.turn(`Align the labels of page ${n}`, [write(machine, `pages/page${n}.ts`)], answer)
      }
      await machine.hook("stop", session.flush())
      await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: words })
      session.boundary("manual").summary("Nothing of note.").flush()
      const given = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
      expect(frameProblems(given)).toEqual([])
      expect(given.length).toBeLessThanOrEqual(4000)
      return given
    }
    const plain = await restoreFor(null)
    expect(plain).not.toContain("Redis")
    expect(plain).not.toContain("durable.ts")
    for (const words of ["keep everything about the durable webhook queue", "focus on Redis"]) {
      const given = await restoreFor(words)
      const [, section = ""] =
        /## Turns about the user's focus for this compaction\n((?:- .*\n)+)/.exec(given) ?? []
      expect(section).toMatch(
        /^- ctx:\w+ "Webhooks get lost when Redis restarts\. [^\n]*Redis streams[^\n]*\n$/,
      )
      // Its other lists follow as before.
      expect(given).toContain("## Turns\n")
    }
    expect(await restoreFor("what we know about durable queues")).toContain("durable.ts")
    // Words that say nothing change nothing.
    expect(stripped(await restoreFor("be brief, please"))).toBe(stripped(plain))
  })

  const stripped = (text: string): string => text.replace(/session="[^"]*"|ctx:\w+/g, "…")

  const write = (machine: Machine, name: string) => ({
    tool: "Write",
    input: { file_path: join(machine.cwd, name), content: "export {}" },
    output: "File created successfully",
  })
})
