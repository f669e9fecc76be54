/** What words and meaning find together, with the real weights: command, server, and an index that is half made. */
import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { tryTo } from "../../src/base/files.ts"
import { PickerArchive } from "../../src/cli/picker/picker-archive.ts"
import { binary, run } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { hitsIn, Peer } from "../support/mcp.ts"
import { realModel } from "../support/real-model.ts"
import { limit } from "../support/slowness.ts"
import { hasTmux, Tmux } from "../support/tmux.ts"

setDefaultTimeout(limit(240_000))

const { folder, missing } = realModel()

const NO_FILTERS = { isHere: false, role: undefined, tool: undefined, since: undefined, errors: false }

const TURNS = [
  ["The login page hangs after a deploy.", "The session cookie had expired; users must sign in again."],
  ["Why is the invoice total wrong?", "Rounding happened per line; it is rounded once now, at the end."],
  ["Set up the nightly backup.", "A timer copies the database to the bucket at three o'clock."],
  ["The photos upload slowly.", "Pictures are shrunk in the browser before they are sent."],
  ["Which colours does the chart use?", "A palette that people who cannot tell red from green can read."],
  ["Tests fail now and then.", "They depended on the order of a map; the keys are sorted now."],
  ["Rename the customer module.", "It is called client everywhere; imports were rewritten."],
  ["Memory grows overnight.", "Listeners were never removed; each reload added one more."],
  ["Translate the error messages.", "The texts are in one file for each language."],
  ["The kiln firmware ignores the thermocouple.", "The pin was configured as an output."],
] as const

describe.skipIf(missing !== undefined)("search by meaning with real weights", () => {
  let machine: Machine
  const cli = (...args: string[]) => run(args, machine)
  const found = async (...args: string[]) => JSON.parse((await cli("search", ...args, "--json")).stdout)

  beforeAll(async () => {
    machine = new Machine()
    const session = machine.session()
    for (const [prompt, answer] of TURNS) session.turn(prompt, [], answer)
    session.flush()
    expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
    expect(await cli("model", "install", "--from", folder, "--yes")).toMatchObject({ code: 0, stderr: "" })
    const isEmbedded = async (): Promise<boolean> => {
      await cli("__job")
      const { vectors } = JSON.parse((await cli("model", "status", "--json")).stdout)
      return vectors.embedded === TURNS.length
    }
    await until(isEmbedded, 180_000, "every turn to be embedded")
  })
  afterAll(() => machine?.[Symbol.dispose]())

  test.each([
    ["images are too big when people send them", 4],
    ["accessible shades for viewers with impaired sight", 5],
    ["leaking event handlers eat up RAM", 8],
    ["occasional random failures of our suite", 6],
  ])("what was said in other words: %s", async (query, seq) => {
    const { mode, hits, vectors, note } = await found(query)
    expect({ mode, vectors }).toEqual({
      mode: "auto",
      vectors: { turns: TURNS.length, embedded: TURNS.length },
    })
    // No likeness tells what was said in other words from what never was.
    expect(note).toStartWith("No message has “")
    expect(hits[0]).toMatchObject({ seq, by: "meaning" })
    const lexical = await found(query, "--mode", "lexical")
    expect(lexical.hits?.[0]?.seq).not.toBe(seq)
  })

  test("words that cover the query decide alone, and no vector is looked at", async () => {
    const { hits, vectors } = await found("kiln thermocouple firmware")
    expect({ first: hits[0], vectors }).toMatchObject({
      first: { seq: 10, by: "together" },
      vectors: undefined,
    })
    expect(new Set(hits.map(({ by }: { by: string }) => by))).not.toContain("meaning")
    expect((await found("session cookie had expired")).hits[0]).toMatchObject({ seq: 1, by: "phrase" })
  })

  test.each(["zzzqqq", "blorptang", "qwertyuiop"])("nonsense finds nothing: %s", async (query) => {
    for (const mode of ["auto", "semantic", "hybrid"])
      expect(await cli("search", query, "--mode", mode)).toMatchObject({ code: 3, stdout: "" })
  })

  test("the server finds the same, and says what it found by meaning", async () => {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const asked = async (query: string) => (await peer.call("search", { query })).text
    const [first] = hitsIn(await asked("images are too big when people send them"))
    expect(first!.about).toContain(", by meaning")
    expect(first!.texts).toContain(TURNS[3]![1])
    const covered = await asked("kiln thermocouple firmware")
    expect(hitsIn(covered)[0]!.texts).toContain(TURNS[9]![0])
    expect(covered).not.toContain("by meaning")
    expect(await asked("zzzqqq")).toStartWith("0 hits")
  })

  test("the picker shows what words have found, then what is alike", async () => {
    const { dataHome, cwd, home } = machine
    const place = { dataHome, stateHome: join(dataHome, "state"), cwd, home }
    using picker = new PickerArchive(place, [binary()])
    const typed = (text: string) =>
      picker.search({ text, isTyping: true, filters: NO_FILTERS, limit: 30 }, Date.now())
    const byWords = typed("leaking event handlers eat up RAM").hits
    expect(byWords.map(({ seq }) => seq)).not.toContain(8)
    expect(picker.isOpenToMeaning).toBe(true)
    expect((await picker.meaning())!.hits[0]).toMatchObject({ seq: 8, by: "meaning" })
    expect(picker.isOpenToMeaning).toBe(false)
    expect(typed("kiln thermocouple firmw").hits[0]).toMatchObject({ seq: 10 })
    expect(picker.isOpenToMeaning).toBe(false)
    expect(await picker.meaning()).toBeUndefined()
    // Another search has begun before the model has answered: its answer is for nobody.
    typed("leaking event handlers eat up RAM")
    const late = picker.meaning()
    typed("accessible shades")
    expect(await late).toBeUndefined()
    expect(picker.isOpenToMeaning).toBe(true)
  })

  test.skipIf(!hasTmux)("in a terminal, what is alike joins while somebody types (needs tmux)", async () => {
    const children = (): string[] =>
      readdirSync("/proc").filter((pid) => {
        const command = /^\d+$/.test(pid)
          ? tryTo(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"))
          : undefined
        return command?.includes(`__vectors\0${machine.dataHome}`)
      })
    using tmux = new Tmux(machine, `'${binary()}'`, { columns: 120, rows: 36 })
    await tmux.sees("ctx:")
    tmux.type("leaking event handlers")
    tmux.type(" eat up RAM")
    await tmux.sees(/> leaking event handlers eat up RAM[\s\S]*Memory grows overnight/)
    tmux.press("C-u")
    tmux.type("accessible shades for viewers with impaired sight")
    await tmux.sees(/Which colours does the chart use/)
    if (process.platform === "linux") expect(children()).toHaveLength(1)
    tmux.press("Escape")
    await until(() => children().length === 0, 20_000, "the model's process to end")
  })

  test("while vectors are being made, the answer says how many there are", async () => {
    const db = new Database(join(machine.dataHome, "archive.db"))
    const missing = [1, 2, 3, 4, 5, 6].join()
    db.run(`DELETE FROM vectors WHERE turn IN (SELECT id FROM turns WHERE seq IN (${missing}))`)
    db.close()
    const { note, vectors } = await found("leaking event handlers eat up RAM")
    expect(vectors).toEqual({ turns: 10, embedded: 4 })
    expect(note).toContain("only 4 of 10 turns")
    const plain = await cli("search", "leaking event handlers eat up RAM")
    expect(plain.stdout).toContain("only 4 of 10 turns")
    // Both are said: what was taken for a mistyped word, and what meaning does not know yet.
    expect((await found("thermocuple")).note).toMatch(
      /^No match for “thermocuple”\. Showing results for “thermocouple”; by meaning, only 4 of 10 turns/,
    )
    await using peer = await Peer.connect(machine.cwd, machine.env)
    const { text } = await peer.call("search", { query: "leaking event handlers eat up RAM" })
    expect(text).toContain("only 4 of 10 turns")
  })
})
