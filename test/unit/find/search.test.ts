import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { oneLine } from "../../../src/base/text.ts"
import type { Hit } from "../../../src/find/hit.ts"
import { search } from "../../../src/find/search-turns.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"
import { Inside, Peer, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"
import { limit } from "../../support/slowness.ts"
import type { Transcript } from "../../support/transcript.ts"

/** `ctxbridge search`, on an archive that hooks have filled. */
describe("search", () => {
  setDefaultTimeout(60_000)

  let machine: Machine
  let main: Transcript
  let other: Transcript

  const LOG = [...Array(400).keys()].map((n) => `line ${n}: nothing to see in this long output`)
  LOG[350] = "line 350: the heliotrope gasket came loose"

  /** A long answer, of which the views hold the beginning. */
  const SHELVES = [...Array(30).keys()].map(
    (n) => `Shelf ${n} was swept, its pots were counted and put back.`,
  )
  const CONCLUSION = "So leave the damper open for the last hour, rather than buying other clay."
  const KILN = [...Array(200).keys()].map((n) => `firing ${n}: as usual`)
  KILN[120] = "firing 120: tenmoku glaze dull on every pot"

  beforeAll(async () => {
    machine = new Inside()
    main = machine.session()
    main
      .turn(
        "Why does the upload of avatars time out?",
        [
          {
            tool: "Bash",
            input: { command: "grep -rn uploadAvatar src/" },
            output: "src/avatar_service.ts:12: export function uploadAvatar(file) {",
          },
          { tool: "Read", input: { file_path: "/src/avatar_service.ts" }, output: LOG.join("\n") },
        ],
        "The presigned link expires after five seconds, so slow lines fail.",
      )
      .turn(
        "Make it a minute, and test it.",
        [
          {
            tool: "Edit",
            input: {
              file_path: "/src/avatar_service.ts",
              old_string: "expires: 5",
              new_string: "expires: 60",
            },
            output: "ok",
          },
          {
            tool: "Bash",
            input: { command: "npm run test:avatars" },
            output: "Exit code 1\nECONNREFUSED 127.0.0.1:9000",
            isError: true,
          },
          { tool: "Bash", input: { command: "docker compose up -d minio" }, output: "Started" },
          { tool: "Bash", input: { command: "npm run test:avatars" }, output: "12 passed" },
        ],
        "We decided to keep minio in docker compose, because the tests need it.",
      )
      .turn("検索エンジンの設計について", [], "日本語でも見つかります。")
      .flush()
    const folder = join(machine.root, "elsewhere")
    mkdirSync(folder)
    other = machine.session({ cwd: folder })
    other.turn("The avatar of the mascot shall be a heron.", [], "A heron it is.").flush()
    const workshop = join(machine.root, "workshop")
    mkdirSync(workshop)
    const pottery = machine.session({ cwd: workshop })
    pottery
      .turn(
        "Why is the tenmoku glaze so dull?",
        [{ tool: "Bash", input: { command: "cat firings.log" }, output: KILN.join("\n") }],
        `The log has the tenmoku glaze at cone nine.\n\n${SHELVES.join("\n\n")}\n\n${CONCLUSION}`,
      )
      .flush()
    for (const transcript of [main, other, pottery]) await machine.hook("stop", transcript)
  })

  afterAll(() => machine[Symbol.dispose]())

  const cli = (...args: string[]) => run(["search", ...args], { env: machine.env, cwd: machine.cwd })

  async function hits(...args: string[]): Promise<Hit[]> {
    const ran = await cli("--json", ...args)
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(ran.stdout).hits
  }

  const seqs = async (...args: string[]): Promise<number[]> => (await hits(...args)).map(({ seq }) => seq)

  describe("results", () => {
    test("finds what was said, run, read and failed, with words marked", async () => {
      const said = await hits("presigned link expires")
      expect(said[0]).toMatchObject({
        seq: 1,
        session: main.session,
        role: "assistant",
        project: machine.cwd,
        prompt: "Why does the upload of avatars time out?",
        why: ["presigned", "link", "expires"],
      })
      expect(said[0]!.handle).toMatch(/^ctx:[0-9a-z]{6,}$/)
      const marked = said[0]!.marks.map(([from, to]) => said[0]!.snippet.slice(from, to))
      expect(marked).toEqual(["presigned", "link", "expires"])
      expect((await hits("docker compose up"))[0]).toMatchObject({ seq: 2, tool: "Bash" })
      const read = (await hits("heliotrope gasket"))[0]!
      expect(read).toMatchObject({ seq: 1, role: "tool", tool: "Read" })
      expect(read.snippet).toContain("the heliotrope gasket came loose")
      expect((await hits("ECONNREFUSED"))[0]).toMatchObject({ seq: 2, role: "tool" })
    })

    test("reports the host's uuid of the line found: prompt, answer, result", async () => {
      const lines = readFileSync(main.path, "utf8").split("\n")
      for (const [query, words] of [
        ["avatars time out", "Why does the upload of avatars time out?"],
        ["presigned link expires", "presigned link"],
        ["heliotrope gasket", "the heliotrope gasket came loose"],
      ] as const) {
        const { uuid } = (await hits(query))[0]!
        const named = lines.filter((line) => line !== "" && JSON.parse(line).uuid === uuid)
        expect(named).toHaveLength(1)
        expect(named[0]).toContain(words)
      }
    })

    test("finds names in every spelling, forms of a word, and scripts without spaces", async () => {
      for (const name of ["uploadAvatar", "upload_avatar", "avatar-service"]) {
        expect((await seqs(name))[0]).toBe(1)
      }
      expect(await seqs("decide")).toEqual([2])
      expect(await seqs("エンジン")).toEqual([3])
    })

    test("a hit is short, whatever was found", async () => {
      for (const limit of [1, 10]) {
        const found = await hits("nothing long output", "--limit", String(limit))
        expect(found).not.toEqual([])
        for (const hit of found) {
          const { marks: _marks, ...texts } = hit
          expect(Object.values(texts).flat().join("").length).toBeLessThanOrEqual(1500)
        }
      }
    })

    test("with enough room, shows what else the turn says about it", async () => {
      const [hit] = await hits("keep minio in docker compose")
      expect(hit).toMatchObject({ seq: 2, role: "assistant", tool: null, answer: null })
      expect(hit!.snippet).toStartWith("We decided to keep minio")
      expect(hit!.also).toEqual([expect.stringContaining("docker compose up -d minio")])
      const shown = await cli("keep minio in docker compose")
      expect(shown).toMatchObject({ code: 0, stderr: "" })
      expect(shown.stdout).toContain("docker compose up -d minio")
    })

    test("shows the conclusion, although a long answer has the words elsewhere", async () => {
      const folder = join(machine.root, "workshop")
      const [hit] = await hits("why is the tenmoku glaze dull", "--project", folder)
      const shown = [hit!.snippet, hit!.answer, ...hit!.also].join("\n")
      expect(shown).toContain("tenmoku glaze dull on every pot")
      expect(shown).toContain(CONCLUSION)
      expect(shown).not.toContain("Shelf 15")
      const told = await cli("why is the tenmoku glaze dull", "--project", folder)
      expect(told).toMatchObject({ code: 0, stderr: "" })
      expect(oneLine(told.stdout)).toContain(CONCLUSION)
      const { marks: _marks, ...texts } = hit!
      expect(Object.values(texts).flat().join("").length).toBeLessThanOrEqual(1500)
      for (const [from, to] of hit!.marks) {
        expect(["tenmoku", "glaze", "dull"]).toContain(hit!.snippet.slice(from, to).toLowerCase())
      }
    })

    test("shows people readable lines, and exits with 3 when there are no results", async () => {
      const shown = await cli("presigned")
      expect(shown).toMatchObject({ code: 0, stderr: "" })
      expect(shown.stdout).toMatch(
        /^ctx:\w+ {2}Why does the upload of avatars time out\? · 2 Mar (?:\d{4} )?\d\d:\d\d · Claude\n {2}The presigned link expires [^\n]+\n$/,
      )
      const whole = await cli("presigned", "-v")
      expect(whole).toMatchObject({ code: 0, stderr: "" })
      expect(whole.stdout).toContain("turn 1 of")
      expect(whole.stdout).not.toContain("\x1b")
      const none = await cli("zeppelin")
      expect(none).toMatchObject({ code: 3, stdout: "" })
      expect(none.stderr).toContain("--all-projects")
      const noneJson = await cli("zeppelin", "--json")
      expect(noneJson.code).toBe(3)
      expect(JSON.parse(noneJson.stdout).error.code).toBe("not-found")
    })
  })

  /** A change was shown as one row, its lines joined by blanks. */
  test("of a change, people see the line that matches, with its sign, and the file", async () => {
    using own = new Inside()
    const input = {
      file_path: join(own.cwd, "src", "kiln.ts"),
      old_string: "const door = open()\nconst hold = 20",
      new_string: "const door = open()\n  const hold = degrees(40)",
    }
    const session = own.session().turn("Hold longer", [{ tool: "Edit", input, output: "ok" }], "Done.")
    await own.hook("stop", session.flush())
    const shown = await run(["search", "hold degrees"], { env: own.env, cwd: own.cwd })
    expect(shown).toMatchObject({ code: 0, stderr: "" })
    const [head, ...lines] = shown.stdout.trimEnd().split("\n")
    expect(head).toMatch(/^ctx:\w+ {2}Hold longer · .* · Edit src\/kiln\.ts$/)
    expect(lines).toContain("  + const hold = degrees(40)")
    expect(lines).toContain("  - const hold = 20")
    for (const line of lines) expect(line).not.toMatch(/const.*const/)
  })

  describe("filters", () => {
    test("the project, unless all are requested", async () => {
      expect(new Set((await hits("avatar")).map(({ session }) => session))).toEqual(new Set([main.session]))
      const all = await hits("avatar", "--all-projects")
      expect(new Set(all.map(({ session }) => session))).toEqual(new Set([main.session, other.session]))
      expect(await seqs("heron", "--project", join(machine.root, "elsewhere"))).toEqual([1])
      expect((await cli("heron")).code).toBe(3)
    })

    test("session, role, tool, file, failure, time", async () => {
      expect(await seqs("heron", "--session", other.session.slice(0, 36))).toEqual([1])
      expect(await seqs("avatars", "--role", "human")).toEqual([1])
      expect(new Set((await hits("avatars", "--tool", "Bash")).map(({ tool }) => tool))).toEqual(
        new Set(["Bash"]),
      )
      expect((await seqs("expires", "--file", "avatar_service.ts")).sort()).toEqual([1, 2])
      expect((await cli("minio", "--file", "other.ts")).code).toBe(3)
      expect(await seqs("--error")).toEqual([2])
      expect((await seqs("avatars", "--since", "2026-03-01")).length).toBeGreaterThan(0)
      expect((await cli("avatars", "--until", "2026-03-01")).code).toBe(3)
      expect(await cli("avatars", "--since", "soon")).toMatchObject({ code: 64, stdout: "" })
    })

    test("by time, despite a transcript with invalid times", async () => {
      using own = new Inside()
      await own.hook("stop", own.session().turn("The heron nests").flush())
      for (const timestamp of ["yesterday", "0"]) {
        const odd = own.session().line({ type: "user", timestamp, message: { role: "user", content: "Odd" } })
        await own.hook("stop", odd.flush())
      }
      for (const narrow of ["--since=2026-03-01", "--until=2026-04-01"]) {
        const found = await run(["search", "heron", narrow], { env: own.env, cwd: own.cwd })
        expect(found).toMatchObject({ code: 0, stderr: "" })
        expect(found.stdout).toContain("The heron nests")
      }
    })

    test("operators, phrases and prefixes", async () => {
      expect(await seqs("minio AND docker")).toEqual([2])
      expect((await cli("minio AND heron")).code).toBe(3)
      expect(await seqs("(minio OR presigned) NOT docker")).toEqual([1])
      expect(await seqs('"slow lines fail"')).toEqual([1])
      expect(await seqs("helio*")).toEqual([1])
      expect(await seqs("avatars role:human")).toEqual([1])
    })

    test("a phrase that no one said is searched by its words", async () => {
      expect((await seqs('where is "gasket heliotrope"'))[0]).toBe(1)
    })
  })

  describe("commands that answer one question", () => {
    const json = async (...args: string[]) => {
      const ran = await run([...args, "--json"], { env: machine.env, cwd: machine.cwd })
      expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
      return JSON.parse(ran.stdout)
    }
    const shown = async (...args: string[]) => {
      const ran = await run(args, { env: machine.env, cwd: machine.cwd })
      expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
      return ran.stdout
    }

    test("files lists those of the turns that are about it", async () => {
      const { found } = await json("files", "expires")
      expect(found[0]).toMatchObject({ path: "/src/avatar_service.ts", ops: ["edit", "read"], turns: 2 })
      expect(await shown("files", "expires")).toContain("/src/avatar_service.ts")
    })

    test("how shows each command, its runs, and how the last one ended", async () => {
      const { found } = await json("how", "test", "avatars")
      expect(found[0]).toMatchObject({
        command: "npm run test:avatars",
        runs: 2,
        failures: 1,
        failed: false,
        exitCode: null,
      })
      expect(await shown("how", "docker", "compose")).toContain("$ docker compose up -d minio")
    })

    test("fix shows what was done until the same call succeeded", async () => {
      const { found } = await json("fix", "ECONNREFUSED", "127.0.0.1:9000")
      expect(found).toHaveLength(1)
      expect(found[0]).toMatchObject({
        target: "npm run test:avatars",
        steps: [{ tool: "Bash", target: "docker compose up -d minio", failed: false }],
        solvedIn: found[0].handle,
      })
      expect(await shown("fix", "ECONNREFUSED")).toContain("then Bash: docker compose up -d minio")
    })

    test("blame lists the turns that changed a file, with what was asked for, and readers on request", async () => {
      const changed = await json("blame", "avatar_service.ts")
      expect(
        changed.found.map(({ seq, prompt }: { seq: number; prompt: string }) => ({ seq, prompt })),
      ).toEqual([{ seq: 2, prompt: "Make it a minute, and test it." }])
      expect((await json("blame", "/src/avatar_service.ts", "--reads")).found).toHaveLength(2)
      expect(await shown("blame", "avatar_service.ts")).toContain("Make it a minute")
    })

    test("show --around shows the turns around a given one", async () => {
      const { handle } = (await hits("docker compose"))[0]!
      const { turns } = await json("show", handle, "--around", "1")
      expect(turns.map(({ seq }: { seq: number }) => seq)).toEqual([1, 2, 3])
      expect(await shown("show", handle, "--around", "3")).toContain(`> ${handle}`)
      const wrong = await run(["show", main.session, "--around", "3"], { env: machine.env, cwd: machine.cwd })
      expect(wrong).toMatchObject({ code: 64, stdout: "" })
    })

    test("each exits with 3 when nothing is found", async () => {
      for (const command of ["files", "how", "fix", "blame"]) {
        const ran = await run([command, "zeppelin"], { env: machine.env, cwd: machine.cwd })
        expect(ran).toMatchObject({ code: 3, stdout: "" })
        expect(ran.stderr).toContain("--all-projects")
      }
    })
  })

  test("without a model, a search by meaning says so and finds similar words", async () => {
    const ran = await cli("presigned", "--mode", "hybrid", "--json")
    expect(ran.code).toBe(0)
    const { mode, note, hits: found } = JSON.parse(ran.stdout)
    expect({ mode, count: found.length }).toEqual({ mode: "hybrid", count: 1 })
    expect(note).toContain("there is no model")
  })

  test("turns with very many of the words do not hide that there are others", async () => {
    using machine = new Inside()
    const session = machine.session().turn("Where are the beacon and the lamp?", [], "Nobody knows.")
    const steps = Array.from({ length: 980 }, (_, n) => ({
      tool: "Bash",
      input: { command: n < 840 ? `light lamp ${n}` : `light lamp ${n} and beacon with a torch` },
      output: "ok",
    }))
    session.turn("Light them all", steps, "Done.").flush()
    await machine.hook("stop", session)
    const found = async (...args: string[]) => {
      const { stdout } = await run(["search", "--json", ...args], machine)
      const { hits, more } = JSON.parse(stdout) as { hits: Hit[]; more: boolean }
      return { seqs: hits.map(({ seq }) => seq).sort(), more }
    }
    // The first 120 messages are of one turn, so more are ranked.
    expect(await found("beacon")).toEqual({ seqs: [1, 2], more: false })
    expect(await found("lamp")).toEqual({ seqs: [2], more: true })
    expect(await found("lamp", "--limit", "90")).toEqual({ seqs: [1, 2], more: false })
    // All that was not ranked is of the turn that was found.
    expect(await found("torch")).toEqual({ seqs: [2], more: false })
  })

  test("any text is a query", async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "AND",
        "OR",
        "NOT",
        "(",
        ")",
        '"',
        "*",
        "avatar",
        "role:x",
        "^",
        "NEAR(a b)",
        "-",
        "--",
      ),
      fc.string({ unit: "grapheme", maxLength: 20 }),
    )
    const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(" ").replaceAll("\0", ""))
    await fc.assert(
      fc.asyncProperty(text, async (query) => {
        const { code, stdout } = await cli("--json", "--", query)
        expect([0, 3]).toContain(code)
        JSON.parse(stdout)
      }),
      { numRuns: 25 },
    )
  })
})

/** The command and the server make one search: for the same request they find the same turns. */
describe("both faces", () => {
  setDefaultTimeout(limit(60_000))

  const DAY = 86_400_000
  /** As many as the server tells when no number is asked for. */
  const USUAL = 8
  const bash = (command: string, isError = false) => ({
    tool: "Bash",
    input: { command },
    output: isError ? "the lathe jammed" : "done",
    isError,
  })

  let machine: Inside
  let other: Inside
  let elsewhere: string

  beforeAll(async () => {
    other = new Inside()
    machine = new Inside()
    const target = join(other.root, "target")
    const there = other.session().turn("Oil the lathe", [bash("oil lathe")], "The lathe there is oiled.")
    await other.hook("stop", there.flush())
    expect(await run(["sync", "--to", target], other)).toMatchObject({ code: 0, stderr: "" })
    expect(await run(["config", "set", "sync.to", target], machine)).toMatchObject({ code: 0, stderr: "" })
    elsewhere = join(machine.root, "elsewhere")
    mkdirSync(elsewhere)
    const said = async (days: number, cwd: string, prompt: string, commands: string[], answer: string) => {
      const session = machine.session({ start: Date.now() - days * DAY, cwd })
      const calls = commands.map((command, n) => bash(command, n === 0 && days < 4))
      await machine.hook("stop", session.turn(prompt, calls, answer).flush())
    }
    await said(
      40,
      machine.cwd,
      "Who built the mill?",
      [],
      "The mill was built by the cooper, beside the weir.",
    )
    await said(9, machine.cwd, "A new belt?", ["turn lathe", "belt on"], "The lathe is old.")
    await said(
      8,
      machine.cwd,
      "Where is the lathe?",
      [],
      `The lathe has a new belt, in the mill. ${"It is dark there. ".repeat(60)}`,
    )
    await said(
      7,
      machine.cwd,
      `The belt is worn. ${"It has been so for years. ".repeat(40)}`,
      ["lathe"],
      "Yes.",
    )
    await said(
      3,
      machine.cwd,
      "Start the lathe",
      ["start lathe", "stop lathe"],
      "It jammed; now it stands still.",
    )
    await said(
      2,
      elsewhere,
      "Whose lathe is it?",
      ["ask for the lathe"],
      "The lathe is the cooper's, and the weir too.",
    )
    const env = { ...machine.env, CTXBRIDGE_ARCHIVE_RETENTION: "30" }
    const tiered = await run(["optimize", "--json"], { ...machine, env })
    expect(JSON.parse(tiered.stdout).tiers).toMatchObject({ hot: 5, cold: 1 })
  })

  afterAll(() => {
    machine[Symbol.dispose]()
    other[Symbol.dispose]()
  })

  interface Hits {
    readonly indexed: readonly string[]
    readonly cold: readonly string[]
  }

  async function byCommand(query: string, options: readonly string[]): Promise<Hits> {
    const words = ["search", "--json", "--limit", String(USUAL), ...options, "--", query]
    const { code, stdout, stderr } = await run(words, machine)
    expect({ stderr, code: code === 3 ? 0 : code }).toEqual({ stderr: "", code: 0 })
    const hits: { handle: string; cold?: true }[] = JSON.parse(stdout).hits ?? []
    const handles = (isCold: boolean) =>
      hits.filter(({ cold = false }) => cold === isCold).map((hit) => hit.handle)
    return { indexed: handles(false), cold: handles(true) }
  }

  async function byServer(query: string, options: Record<string, unknown>): Promise<Hits> {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const { text, isError } = await peer.call("search", { query, ...options })
    expect({ isError, text: isError ? text : "" }).toEqual({ isError: false, text: "" })
    // What is out of the index is told above the hits.
    const [, older = "", rest = text] = /Older, out of the index:\n((?:ctx:.*\n)+)([\s\S]*)/.exec(text) ?? []
    const handlesIn = (some: string): string[] => some.match(/^(?:ctx|far):[0-9a-z]+/gm) ?? []
    return { indexed: handlesIn(rest), cold: handlesIn(older) }
  }

  /** A request as the one and the other put it, and how many turns of the index and elsewhere it finds. */
  type Request = readonly [
    query: string,
    options: readonly string[],
    args: Record<string, unknown>,
    turns: number,
  ]

  describe("the same turns in the same order", () => {
    const requests: readonly Request[] = [
      ["", [], {}, 4],
      ["", ["--all-projects"], { all_projects: true }, 6],
      ["", ["--since", "5d"], { since: "5d" }, 1],
      ["", ["--until", "5d", "--since", "2w"], { until: "5d", since: "2w" }, 3],
      ["lathe", ["--tool", "Bash"], { tool: "Bash" }, 3],
      ["lathe", ["--role", "assistant"], { role: "assistant" }, 4],
      ["lathe jammed", ["--error"], { error: true }, 1],
      ["lathe", ["--tool", "Bash", "--all-projects"], { tool: "Bash", all_projects: true }, 4],
      ["lathe", ["--tool", "Bash", "--everywhere"], { tool: "Bash", everywhere: true }, 4],
      ["coopper", ["--role", "assistant", "--all-projects"], { role: "assistant", all_projects: true }, 1],
      ["xylophone", [], {}, 0],
      ["lathe", ["--tool", "Bash", "--since", "1d"], { tool: "Bash", since: "1d" }, 0],
    ]
    test.each(requests)("%j %j", async (query, options, args, turns) => {
      const found = await byCommand(query, options)
      expect(await byServer(query, args)).toEqual(found)
      expect(found.indexed).toHaveLength(turns)
    })
  })

  test("by words alone the same turns, first the one that has the words together", async () => {
    const [command, server] = [await byCommand("lathe belt", []), await byServer("lathe belt", {})]
    expect([...server.indexed].sort()).toEqual([...command.indexed].sort())
    expect(command.indexed).toHaveLength(4)
    const [together] = (await byCommand("new belt", ["--role", "assistant"])).indexed
    expect([command.indexed[0] === together, server.indexed[0] === together]).toEqual([true, true])
  })

  test("elsewhere the same turns, and what is out of the index: in the one case first, in the other apart", async () => {
    const everywhere = [
      await byCommand("lathe oiled", ["--everywhere"]),
      await byServer("lathe oiled", { everywhere: true }),
    ]
    expect(everywhere[0]!.indexed.filter((handle) => handle.startsWith("far:"))).toHaveLength(1)
    expect([...everywhere[1]!.indexed].sort()).toEqual([...everywhere[0]!.indexed].sort())
    const command = await byCommand("mill weir", [])
    expect(command.cold).toHaveLength(1)
    expect(await byServer("mill weir", {})).toEqual(command)
  })

  test("both refuse a span that ends before it begins, in their own words", async () => {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const { text } = await peer.call("search", { query: "lathe", since: "2026-03-02", until: "2026-03-01" })
    const ran = await run(["search", "lathe", "--since", "2026-03-02", "--until", "2026-03-01"], machine)
    const [, hint] = /^hint: (2026-\S+ and 2026-\S+)$/m.exec(ran.stderr) ?? []
    expect(ran).toMatchObject({
      code: 64,
      stdout: "",
      stderr: `ctxbridge: --since is not before --until\nhint: ${hint}\n`,
    })
    expect(text).toBe(`Error: since is not before until\nHint: ${hint}`)
  })
})

/** Prompts that waited in Claude Code's queue. */
describe("queued prompts", () => {
  setDefaultTimeout(60_000)

  /**
   * A prompt that had waited in Claude Code's queue was found twice: in its own turn, and in the one during which it
   * was put there, along with the answer to another prompt. A Claude Code run by a program puts each prompt into the
   * queue.
   */
  describe("a prompt that waited is", () => {
    test.each([true, false])("found once (indexed in between: %p)", async (followed) => {
      using machine = new Inside()
      const session = machine.session()
      const queue = (operation: string, content?: string) => {
        const timestamp = "2026-03-02T08:00:30.000Z"
        const line = { type: "queue-operation", operation, timestamp, sessionId: session.session, content }
        session.raw(JSON.stringify(line))
      }
      const see = async (): Promise<void> => {
        await machine.hook("stop", session.flush())
        if (followed) await machine.hook("pre-compact", session)
      }
      const found = async (...words: string[]) => {
        const ran = await run(["search", "--json", ...words], machine)
        expect(ran).toMatchObject({ code: 0, stderr: "" })
        return JSON.parse(ran.stdout).hits.map(({ seq, answer }: { seq: number; answer: string }) => [
          seq,
          answer,
        ])
      }
      session.turn("Card the wool")
      queue("enqueue", "Repair the shuttle")
      queue("enqueue", "Dye it red")
      await see()
      queue("dequeue")
      session.turn("Repair the shuttle")
      await see()
      const attachment = { type: "queued_command", commandMode: "prompt", prompt: "Dye it blue" }
      queue("enqueue", "Dye it blue")
      queue("remove", "Dye it blue")
      session.line({ type: "attachment", attachment }).say("Blue it is.")
      await see()

      expect(await found("shuttle")).toEqual([[2, "Answer to: Repair the shuttle"]])
      expect(await found("blue", "--role", "human")).toEqual([[3, "Blue it is."]])
      // Nothing but the queue knows of it.
      expect(await found("red")).toEqual([[1, "Answer to: Card the wool"]])
      const doctor = await run(["doctor", "--json"], machine)
      expect(JSON.parse(doctor.stdout).findings).toContainEqual(
        expect.objectContaining({ check: "words", state: "ok" }),
      )
    })
  })
})

describe("verify", () => {
  test("a phrase is found despite many newer messages that contain its words separately", () => {
    using archive = new Archive()
    const transcript = archive.session("11111111-0000-4000-8000-000000000004")
    transcript.turn("the amber lamp is lit", [], "So it is.")
    for (let n = 0; n < 100; n++) transcript.turn(`lamp ${n}, and another amber`, [], "Noted.")
    transcript.turn("the amber lamp and a walrus", [], "Strange.").flush()
    archive.follow(transcript)
    const readers = new CopyReaders()
    const seqs = (query: string): number[] =>
      search(archive.db, archive.dataHome, { query, limit: 10 }, readers).hits.map(({ seq }) => seq)
    expect(seqs('"amber lamp"').toSorted()).toEqual([1, 102])
    // A word beside the phrase ranks, and is not required.
    expect(seqs('walrus "amber lamp"')).toEqual([102, 1])
    expect(seqs('"amber lamp" AND NOT walrus')).toEqual([1])
    expect(seqs('"amber lamp" AND "walrus"')).toEqual([102])
    // Nobody has said this; its words count then.
    expect(seqs('"walrus amber"')[0]).toBe(102)
    readers.close()
  })
})
