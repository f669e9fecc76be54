import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { type FarHit, farHandle, farId, refuseUnknown, withFar } from "../../../src/find/elsewhere.ts"
import type { Hit } from "../../../src/find/hit.ts"
import { parseQuery } from "../../../src/find/parse-query.ts"
import { exchange, Inside, Peer, run } from "../../support/inside.ts"
import { callOf, textOf } from "../../support/mcp.ts"

/** Words that nobody has written, filters that let nothing through, and names of nothing. */
describe("typos", () => {
  const machine = new Inside()
  const elsewhere = join(machine.root, "walrusery")

  beforeAll(async () => {
    const session = machine.session()
    session.turn("How do checkpoints survive a migration?", [
      { tool: "Bash", input: { command: "make condensation" }, output: "made" },
      { tool: "Read", input: { file_path: "/src/strategy.ts" }, output: "the strategy" },
    ])
    session.turn("Checkpoints again, and a retreival")
    session.turn("The retrieval of the lantern")
    await machine.hook("stop", session.flush())
    const other = machine.session({ cwd: elsewhere }).turn("The narwhals keep chackpaint in a shed")
    await machine.hook("stop", other.flush())
  })

  afterAll(() => machine[Symbol.dispose]())

  interface Answer {
    readonly note?: string
    readonly corrections?: readonly unknown[]
    readonly hits: readonly { readonly why: readonly string[] }[]
  }

  async function found(...args: readonly string[]): Promise<Answer> {
    const { code, stdout, stderr } = await run(["search", "--json", ...args], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout)
  }

  async function refused(...args: readonly string[]): Promise<{ message: string; hint?: string }> {
    const { code, stdout, stderr } = await run([...args, "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 3, stderr: "" })
    return JSON.parse(stdout.trimEnd()).error
  }

  describe("a word that nobody has written", () => {
    test.each([
      ["chekpoint", "checkpoints"],
      ["chekpoints", "checkpoints"],
      ["hceckpoint", "checkpoints"],
      ["Chekcpoint", "checkpoints"],
      ["migartion", "migration"],
      ["strategey", "strategy"],
      ["condensaton", "condensation"],
      ["lantren", "lantern"],
    ])("%p is searched for as %p, and this is said", async (typed, word) => {
      const { note, corrections, hits } = await found(typed)
      expect(note).toBe(`No match for “${typed}”. Showing results for “${word}”.`)
      expect(corrections).toEqual([{ typed, word }])
      expect(hits.length).toBeGreaterThan(0)
      expect(hits[0]!.why).toEqual([word])
    })

    test("people read it above the hits", async () => {
      const { code, stdout } = await run(["search", "chekpoint"], machine)
      expect(code).toBe(0)
      expect(stdout).toStartWith("No match for “chekpoint”. Showing results for “checkpoints”.\nctx:")
    })

    test("of several words, each", async () => {
      const { corrections, hits } = await found("chekpoint migartion")
      expect(corrections).toHaveLength(2)
      expect(new Set(hits[0]!.why)).toEqual(new Set(["checkpoints", "migration"]))
      expect((await found("chekpoint AND migration")).corrections).toHaveLength(1)
    })

    test("stays as it is if somebody has written it, in quotes, with --exact, as a beginning, and if nothing is near", async () => {
      expect((await found("retreival")).corrections).toBeUndefined()
      for (const query of ['"chekpoint"', "chekp*", "walrusish", "chekpoint2", "chk"])
        expect((await refused("search", query)).message).toStartWith("nothing in ")
      expect((await refused("search", "chekpoint", "--exact")).message).toStartWith("nothing in ")
      const long = await found("chekpoint", "what", "survive", "lantern", "again", "strategy", "condensation")
      expect(long.corrections).toBeUndefined()
    })

    test("only words of what is searched are near", async () => {
      expect((await found("chackpant", "--all-projects")).corrections).toEqual([
        { typed: "chackpant", word: "chackpaint" },
      ])
      expect((await refused("search", "chackpant")).message).toStartWith("nothing in ")
    })

    test("the server says so, too", async () => {
      const { replies } = await exchange([callOf(1, "search", { query: "chekpoint" })], machine)
      expect(replies[0]!.result).toMatchObject({ isError: false })
      expect(textOf(replies[0]!)).toContain(
        "\nNo match for “chekpoint”. Showing results for “checkpoints”.\n",
      )
    })
  })

  describe("filters that let nothing through are named", () => {
    test.each([
      [["lantern", "--tool", "Bash"], " with --tool Bash; 1 without it"],
      [["checkpoints", "--error"], " with --error; 2 without it"],
      [["checkpoints", "--role", "human", "--since", "2999-01-01"], " with --since 2999-01-01; 2 without it"],
      [
        ["lantern", "--tool", "Bash", "--since", "2999-01-01"],
        " with --tool Bash --since 2999-01-01; 1 without them",
      ],
      [["narwhals"], "; 1 in other projects"],
    ])("%p", async (args, end) => {
      const expected = `nothing in ${machine.cwd} matches ${JSON.stringify(args[0])}${end}`
      let { message } = await refused("search", ...args)
      // There is so much time to find the filter; without it, all are named.
      for (let n = 0; n < 5 && message !== expected; n++) message = (await refused("search", ...args)).message
      expect(message).toBe(expected)
    })

    test("the hint is to leave out the one that is the reason", async () => {
      expect((await refused("search", "lantern", "--tool", "Bash")).hint).toBe("leave out --tool")
      expect((await refused("search", "checkpoints", "--error")).hint).toBe("leave out --error")
    })

    test("no observations were made", async () => {
      expect(await refused("search", "--observations", "decision")).toMatchObject({
        message: "there are no observations yet",
        hint: "ctxbridge summarize has a model write them",
      })
    })

    test("unless nothing would be found without them", async () => {
      const { message } = await refused("search", "walrusish", "--tool", "Bash")
      expect(message).toBe(`nothing in ${machine.cwd} matches "walrusish"`)
    })

    test("the server names them, too", async () => {
      const asked = async (args: object): Promise<string> => {
        const { replies } = await exchange([callOf(1, "search", args)], machine)
        return textOf(replies[0]!)
      }
      expect(await asked({ query: "lantern", tool: "Bash" })).toMatch(/^0 hits .*\nWithout tool: 1 turn\.$/)
      expect(await asked({ query: "lantern", tool: "Bsh" })).toMatch(
        /^Error: .*"Bsh" is archived\nHint: did you mean Bash\?$/,
      )
    })
  })

  describe("names of nothing", () => {
    test("a tool", async () => {
      const error = {
        code: "not-found",
        message: 'no call of a tool named "Bsh" is archived',
        hint: "did you mean Bash?",
      }
      expect(await refused("search", "checkpoints", "--tool", "Bsh")).toMatchObject(error)
      expect(await refused("search", "tool:Bsh")).toMatchObject(error)
      // It might be called one day.
      expect((await refused("search", "checkpoints", "--tool", "WebSearch")).message).toEndWith(
        "; 2 without it",
      )
    })

    test("a role", async () => {
      const { code, stderr } = await run(["search", "checkpoints", "--role", "humn"], machine)
      expect([code, stderr]).toEqual([
        64,
        `ctxbridge: --role must be one of human, assistant, tool, claude-code, not "humn"\nhint: did you mean --role human?\n`,
      ])
    })

    test.each(["search", "how", "fix", "files"])(
      "%s: a project, even within another's folder",
      async (command) => {
        const error = await refused(command, "checkpoints", "--project", "walrusary")
        expect(error).toMatchObject({
          code: "not-found",
          message: "--project walrusary is neither a project's name nor a folder",
          hint: "did you mean walrusery?",
        })
      },
    )

    test("a project that is like none: a path may lie in another, a name does not", async () => {
      const hintOf = async (project: string) =>
        (await refused("search", "checkpoints", "--project", project)).hint
      expect(await hintOf("zzqqy")).toBe("ctxbridge sessions --all-projects lists the projects")
      expect(await hintOf("./zzqqy")).toBe(`--project ${machine.cwd} is the project above it`)
    })

    test("a project's folder may be gone, and another may be without sessions", async () => {
      expect((await found("narwhals", "--project", elsewhere)).hits).toHaveLength(1)
      const empty = join(machine.root, "empty")
      mkdirSync(empty)
      expect((await refused("search", "x", "--project", empty)).message).toBe(
        `no session of ${empty} is archived`,
      )
    })
  })
})

/** What users and the model see of turns that are out of the index. */
describe("out of the index", () => {
  setDefaultTimeout(60_000)

  const DAY = 86_400_000
  let machine: Inside

  beforeAll(async () => {
    machine = new Inside()
    for (const [days, prompt, answer] of [
      [40, "Where does the theodolite stand?", "The theodolite stands on the northern heliport."],
      [2, "Where does the sextant stand?", "The sextant stands on the pier, not the theodolith."],
    ] as const) {
      const session = machine.session({ start: Date.now() - days * DAY })
      await machine.hook("stop", session.turn(prompt, [], answer).flush())
    }
    const env = { ...machine.env, CTXBRIDGE_ARCHIVE_RETENTION: "30" }
    const ran = await run(["optimize", "--json"], { ...machine, env })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(ran.stdout).tiers).toMatchObject({ hot: 1, cold: 1 })
  })

  afterAll(() => machine[Symbol.dispose]())

  async function hits(...words: string[]) {
    const ran = await run(["search", "--json", ...words], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    return JSON.parse(ran.stdout).hits
  }

  test("what was said 40 days ago is found without an option when the index has nothing", async () => {
    expect(await hits("theodolite")).toMatchObject([{ cold: true, seq: 1 }])
    const ran = await run(["search", "theodolite"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toContain("cold")
    expect(ran.stdout).toContain("northern heliport")
  })

  test("and before what lacks some of the words", async () => {
    const found = await hits("stands", "heliport")
    expect(found[0]).toMatchObject({ cold: true })
    expect(found.slice(1)).toMatchObject([{ session: expect.any(String), seq: 1 }])
    expect(found[1]).not.toHaveProperty("cold")
  })

  test("by some of the words, if those are more than what the index has", async () => {
    const asked = ["where", "stands", "theodolite", "zzznever"]
    expect(await hits(...asked)).toMatchObject([{ cold: true, why: ["stands", "theodolite"] }])
    // The index has as many, as far as it takes one for mistyped.
    const [first] = await hits("sextant", "theodolite", "zzznever")
    expect(first).not.toHaveProperty("cold")
    expect(await hits("zzznever", "northern")).toMatchObject([{ cold: true, why: ["northern"] }])
  })

  test("and is not taken for a mistyped word, although the index has one like it", async () => {
    expect(await hits("theodolith")).toMatchObject([{ seq: 1, why: ["theodolith"] }])
    expect(await hits("theodolite")).toMatchObject([{ cold: true, why: ["theodolite"] }])
  })

  test("but not beside what has them all", async () => {
    expect(await hits("stands")).toHaveLength(1)
    expect(await hits("stands", "--cold")).toHaveLength(2)
  })

  test("filters hold for it, and what nobody said is still not found", async () => {
    const until = new Date(Date.now() - 60 * DAY).toISOString().slice(0, 10)
    for (const words of [["theodolite", "--until", until], ["theodolite", "--role", "host"], ["astrolabe"]]) {
      const ran = await run(["search", ...words], machine)
      expect(ran).toMatchObject({ code: 3, stdout: "" })
      expect(ran.stderr).toStartWith("ctxbridge: nothing in")
    }
  })

  test("a turn that is out of the index is shown, with what it is worth", async () => {
    const [{ handle }] = await hits("theodolite")
    const ran = await run(["show", handle, "--json"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(ran.stdout).worth).toEqual({
      confidence: 0.1,
      importance: expect.any(Number),
      uses: 0,
      cold: true,
    })
    const shown = await run(["show", handle], machine)
    expect(shown).toMatchObject({ code: 0, stderr: "" })
    expect(shown.stdout).toContain("out of the index")
  })

  test("status and doctor say how many there are, and find nothing wrong", async () => {
    const status = JSON.parse((await run(["status", "--json"], machine)).stdout)
    expect(status.index).toMatchObject({ cold: 2, complete: true })
    expect(status.embedding).toMatchObject({ turns: 1, embedded: 1 })
    expect((await run(["status", "--verbose"], machine)).stdout).toContain("2 of them cold")
    const doctor = await run(["doctor", "--json"], machine)
    expect(doctor.stdout).toContain("all but 2 cold ones in the word index")
  })

  test("the server tells of it as well", async () => {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const { text, isError } = await peer.call("search", { query: "theodolite heliport" })
    expect(isError).toBe(false)
    expect(text).toContain("Older, out of the index:")
    expect(text).toContain("northern heliport")
    const handle = /ctx:[0-9a-z]+/.exec(text)![0]
    expect(await peer.call("get", { handle })).toMatchObject({ isError: false })
    const both = await peer.call("search", { query: "stands heliport" })
    expect(both.text).toContain("northern heliport")
    expect(both.text).toContain("on the pier")
  })
})

/** What is found elsewhere: its place among the hits from here, what is refused, how it is named. */
describe("elsewhere", () => {
  const here = (...handles: string[]): Hit[] => handles.map((handle) => ({ handle, score: 9 }) as Hit)
  const [T1, T2, T3] = ["1", "2", "3"].map((digit) => `far:${digit.repeat(16)}`) as [string, string, string]
  const there = (...handles: string[]): FarHit[] => handles.map((handle) => ({ handle, score: 0 }) as FarHit)

  describe("hits from here and from elsewhere", () => {
    const merged = (local: Hit[], far: FarHit[], share: number, lacking: readonly string[] = []): string[] =>
      withFar(local, { asked: ["a", "b", "c", "d"], lacking }, { hits: far, share }).map(
        ({ handle }) => handle,
      )

    test("alternate, from here first", () => {
      expect(merged(here("h1", "h2"), there(T1, T2, T3), 1)).toEqual(["h1", T1, "h2", T2, T3])
    })

    test("those that are here keep their order, whatever the target thinks of them", () => {
      expect(merged(here("h1", "h2", "h3"), there("h3", "h1", "h2"), 1)).toEqual(["h1", "h2", "h3"])
      expect(merged(here("h1", "h2", "h3"), there("h3", T1), 1)).toEqual(["h1", "h2", T1, "h3"])
      expect(merged(here("h1", "h2"), there("ctx:other", T1), 1)).toEqual(["h1", "h2", T1, "ctx:other"])
    })

    test("what has fewer of the words comes last, unless those here have no more", () => {
      expect(merged(here("h1", "h2"), there(T1), 0.5)).toEqual(["h1", "h2", T1])
      expect(merged(here("h1", "h2"), there(T1), 0.5, ["c", "d"])).toEqual(["h1", T1, "h2"])
      expect(merged([], there(T1), 0.25)).toEqual([T1])
    })

    test("scores follow the order", () => {
      const scores = withFar(here("h1", "h2"), { asked: [], lacking: [] }, { hits: there(T1), share: 1 }).map(
        ({ score }) => score,
      )
      expect(scores).toEqual([...scores].sort((a, b) => b - a))
    })
  })

  test.each(["a OR b", "a AND NOT b", "conf*", "role:human a", 'tool:Bash "x y"'])(
    "%s is refused",
    (query) => {
      expect(() => refuseUnknown(parseQuery(query))).toThrow("cannot be used with --backend or --everywhere")
    },
  )

  test.each(["", "flaky upload", '"exit code 2" npm', "検", "a and b", "role:admin"])(
    "%j is not",
    (query) => {
      expect(() => refuseUnknown(parseQuery(query))).not.toThrow()
    },
  )

  test("a handle is the beginning of the id, however it was copied", () => {
    const id = "0123456789abcdef".repeat(4)
    expect(farHandle(id)).toBe("far:0123456789abcdef")
    for (const typed of [
      farHandle(id),
      "`far:0123456789ABCDEF`.",
      "far:0123456789abcdef@12-",
      "(far:0123456789abcdef)",
    ])
      expect(farId(typed)).toBe("0123456789abcdef")
    expect(farId(`far:${id}`)).toBe(id)
    for (const typed of [
      "far:0123",
      "ctx:ab12cd",
      "far",
      "afar:0123456789abcdef",
      `far:${id}0`,
      "far:0123456789abcdeg",
    ])
      expect(farId(typed)).toBeUndefined()
  })
})
