/** What words and meaning find together, with the real weights: command, server, and an index that is half made. */
import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { tryTo } from "../../src/base/files.ts"
import { PickerArchive } from "../../src/cli/picker/picker-archive.ts"
import { MINILM, MODEL_FILE, TOKENIZER_FILE } from "../../src/find/embed/model-manifest.ts"
import { binary, run } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { hitsIn, Peer } from "../support/mcp.ts"
import { TINY, writeModel } from "../support/onnx-model.ts"
import { realModel } from "../support/real-model.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"
import { runAtTerminal } from "../support/terminal.ts"
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
    const config = { "search.meaning": "auto" } as const
    const place = { config, dataHome, stateHome: join(dataHome, "state"), cwd, home }
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

  test("who leaves the picker while the model is being loaded leaves no mark of a native library that failed", async () => {
    const { dataHome, cwd, home } = machine
    const stateHome = join(machine.root, "state-of-a-picker")
    const config = { "search.meaning": "auto" } as const
    for (let n = 0; n < 3; n++) {
      using picker = new PickerArchive({ config, dataHome, stateHome, cwd, home }, [binary()])
      expect(await picker.wakeModel()).toBeDefined()
      await until(() => existsSync(stateHome), 20_000, "the model to be loaded")
    }
    const marks = (): string[] => readdirSync(stateHome).filter((name) => name.startsWith("loading-native-"))
    await until(() => marks().length === 0, 60_000, "the processes to end")
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
    // For a moment, one that it starts itself goes by its name.
    if (process.platform === "linux")
      await until(() => children().length === 1, 20_000, "one process of the model's alone")
    tmux.press("Escape")
    await until(() => children().length === 0, 20_000, "the model's process to end")
  })

  test("where search.meaning is off, words decide alone at every door; who asks by name is told", async () => {
    const off = { ...machine.env, CTXBRIDGE_MEANING: "off" }
    const query = "leaking event handlers eat up RAM"
    const asked = async (...args: string[]) =>
      JSON.parse((await run(["search", query, ...args, "--json"], { ...machine, env: off })).stdout)
    const { hits = [], vectors, mode } = await asked()
    expect({ vectors, mode }).toEqual({ vectors: undefined, mode: "auto" })
    expect(hits.map(({ seq }: { seq: number }) => seq)).not.toContain(8)
    for (const named of ["semantic", "hybrid"]) {
      const found = await asked("--mode", named)
      expect(found.hits[0]).toMatchObject({ seq: 8 })
      expect(found.note).toContain("search.meaning is off, so no vectors are made: 10 of 10 turns have some")
    }
    await using peer = await Peer.connect(machine.cwd, off)
    expect((await peer.call("search", { query })).text).not.toContain("by meaning")
    const { dataHome, cwd, home } = machine
    const config = { "search.meaning": "off" } as const
    using picker = new PickerArchive({ config, dataHome, stateHome: join(dataHome, "state"), cwd, home })
    picker.search({ text: query, isTyping: false, filters: NO_FILTERS, limit: 30 }, Date.now())
    expect(picker.isOpenToMeaning).toBe(false)
  })

  test("resume asks about a session that is alike in meaning, and starts none by itself", async () => {
    const query = "images are too big when people send them"
    const shown = await cli("resume", query, "--dry-run", "--json")
    expect({ code: shown.code, stderr: shown.stderr }).toEqual({ code: 0, stderr: "" })
    const { match, session, candidates } = JSON.parse(shown.stdout)
    expect({ match, candidates }).toMatchObject({ match: "part", candidates: [{ session, by: "meaning" }] })
    const asked = await cli("resume", query)
    expect(asked).toMatchObject({ code: 64, stdout: "" })
    expect(asked.stderr).toContain(`no session has all of "${query}"; the nearest is:\n`)
    expect(asked.stderr).toContain("by meaning")
    expect(await cli("resume", "zzzqqq", "--dry-run", "--json")).toMatchObject({ code: 3 })
    const off = { ...machine, env: { ...machine.env, CTXBRIDGE_MEANING: "off" } }
    expect(await run(["resume", query, "--dry-run", "--json"], off)).toMatchObject({ code: 3 })
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
    const { dataHome, cwd, home } = machine
    const config = { "search.meaning": "auto" } as const
    const place = { config, dataHome, stateHome: join(dataHome, "state"), cwd, home }
    using picker = new PickerArchive(place, [binary()])
    const typed = {
      text: "leaking event handlers eat up RAM",
      isTyping: false,
      filters: NO_FILTERS,
      limit: 30,
    }
    picker.search(typed, Date.now())
    expect((await picker.meaning())!.note).toContain("only 4 of 10 turns")
    expect((await cli("status")).stdout).toContain("by meaning 4 of 10 turns, being made\n")
    const off = { ...machine, env: { ...machine.env, CTXBRIDGE_MEANING: "off" } }
    expect((await run(["status"], off)).stdout).toContain("by meaning: off\n")
  })
})

test.skipIf(missing !== undefined)("install --model: what is archived gets its vectors at once", async () => {
  using machine = new Machine()
  machine.session().turn("said before the install").flush()
  expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
  const env = { ...machine.env, CTXBRIDGE_MODEL_FROM: folder }
  const ran = await run(["install", "--model"], { env, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(ran.stdout).toContain("\nModel      there; ")
  await machine.idle(120_000)
  const { embedding } = JSON.parse((await run(["status", "--json"], machine)).stdout)
  expect(embedding).toMatchObject({ model: MINILM.id, turns: 1, embedded: 1, meaning: "auto" })
  expect((await run(["status"], machine)).stdout).toContain("by meaning all 1 turn\n")
  // It is there, so nobody is asked.
  const again = await runAtTerminal(machine, ["install"], { cols: 200 })
  expect(again.code).toBe(0)
  expect(again.text).not.toContain("Download")
})

/** A network of its own without any way out, where the system lets us have one. */
const lonely = Bun.spawnSync(["unshare", "-rn", "true"]).exitCode === 0 ? ["unshare", "-rn"] : []

describe.skipIf(missing !== undefined)("a binary that carries the weights", () => {
  const ROOT = join(import.meta.dir, "../..")
  let checkout: ReturnType<typeof tempFolder>

  const built = (model: string) => {
    const env = { ...process.env, CTXBRIDGE_MODEL: model }
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, "run", "build"], {
      cwd: checkout.path,
      env,
    })
    return { exitCode, stderr: String(stderr) }
  }

  /** With a build of its own: what it is made of lies in the checkout, where others read it. */
  beforeAll(() => {
    checkout = tempFolder()
    for (const name of [
      "package.json",
      "bunfig.toml",
      "tsconfig.json",
      "src",
      "build",
      "plugin",
      "dist/runtime",
    ]) {
      // With their times, or the runtime would be packed again.
      cpSync(join(ROOT, name), join(checkout.path, name), { recursive: true, preserveTimestamps: true })
    }
    symlinkSync(join(ROOT, "node_modules"), join(checkout.path, "node_modules"))
    expect(built(folder)).toMatchObject({ exitCode: 0 })
  })
  afterAll(() => checkout?.[Symbol.dispose]())

  const alone = (machine: Machine, ...args: string[]) => {
    const command = [...lonely, join(checkout.path, "dist/ctxbridge"), ...args]
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: machine.cwd, env: machine.env })
    expect({ exitCode, stderr: String(stderr) }).toEqual({ exitCode: 0, stderr: "" })
    return String(stdout)
  }
  const embedded = (machine: Machine): Promise<void> =>
    until(
      () => {
        alone(machine, "__job")
        return JSON.parse(alone(machine, "model", "status", "--json")).vectors.embedded === TURNS.length
      },
      180_000,
      "every turn to be embedded",
    )
  const search = (machine: Machine) =>
    JSON.parse(alone(machine, "search", "images are too big when people send them", "--json"))

  test("finds what was said in other words, without a network and with nothing installed", async () => {
    using machine = new Machine()
    const session = machine.session()
    for (const [prompt, answer] of TURNS) session.turn(prompt, [], answer)
    session.flush()
    // As by a version without: its vectors of hashed words are replaced.
    expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
    expect(await run(["__job"], machine)).toMatchObject({ code: 0, stderr: "" })
    await embedded(machine)
    const { vectors } = JSON.parse(alone(machine, "model", "status", "--json"))
    using db = machine.views()
    const makers = db.query<{ embedder: string }, []>("SELECT DISTINCT embedder FROM vectors").all()
    expect(makers).toEqual([{ embedder: vectors.embedder }])
    expect(search(machine).hits[0]).toMatchObject({ seq: 4, by: "meaning" })
    expect(JSON.parse(alone(machine, "model", "status", "--json"))).toMatchObject({
      model: MINILM.id,
      folder: null,
      carried: true,
      problem: null,
    })
    for (const runtime of ["native", "wasm"]) {
      const verified = JSON.parse(alone(machine, "model", "verify", "--runtime", runtime, "--json"))
      expect(verified).toMatchObject({ ok: true, runtime })
    }
    expect(existsSync(join(machine.dataHome, "models"))).toBe(false)
  })

  test("what is installed goes before it, by the same name; remove turns it off, install on", async () => {
    using machine = new Machine()
    const config = join(machine.home, ".config/ctxbridge/config.toml")
    alone(machine, "model", "install", "--from", folder)
    const { folder: place } = JSON.parse(alone(machine, "model", "status", "--json"))
    expect(place).toStartWith(join(machine.dataHome, "models"))
    expect(JSON.parse(alone(machine, "model", "remove", "--dry-run", "--json"))).toEqual({
      removed: join(machine.dataHome, "models"),
      meaning: "off",
      dryRun: true,
    })
    expect(existsSync(config)).toBe(false)
    expect(alone(machine, "model", "remove")).toContain(`Set search.meaning = off in ${config}\n`)
    expect(readFileSync(config, "utf8")).toEndWith('search.meaning = "off"\n')
    expect(JSON.parse(alone(machine, "model", "status", "--json"))).toMatchObject({
      folder: null,
      carried: true,
    })
    const told = alone(machine, "model", "install")
    expect(told).toBe(
      `${MINILM.id} is part of this binary, so there is nothing to install\nSet search.meaning = auto in ${config}\n`,
    )
    expect(alone(machine, "config", "get", "search.meaning")).toBe("auto\n")
    // Another model of the user's own is used, until they want this one again.
    const own = writeModel(machine.root, TINY, "tiny")
    const manifest = join(machine.root, "manifest.json")
    alone(machine, "model", "install", "--from", machine.root, "--manifest", manifest)
    expect(JSON.parse(alone(machine, "model", "status", "--json")).model).toBe(own.id)
    expect(JSON.parse(alone(machine, "model", "install", "--json"))).toMatchObject({
      model: MINILM.id,
      changed: true,
      removed: join(machine.dataHome, "models"),
    })
    expect(JSON.parse(alone(machine, "model", "status", "--json")).model).toBe(MINILM.id)
    await machine.idle()
  })

  test("install asks for no model, and has what is archived embedded", async () => {
    using machine = new Machine()
    machine.session().turn("said before the install").flush()
    expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
    const command = [join(checkout.path, "dist/ctxbridge"), "install"]
    const { code, text } = await runAtTerminal(machine, [], { cols: 200, command })
    expect(code).toBe(0)
    expect(text).not.toContain("Download")
    expect(text).toContain("\nModel      there; ")
    await machine.idle(120_000)
    expect(JSON.parse(alone(machine, "status", "--json")).embedding).toMatchObject({ turns: 1, embedded: 1 })
  })

  test("a file that differs by a byte is refused by the build", () => {
    using other = tempFolder()
    for (const name of [MODEL_FILE, TOKENIZER_FILE]) {
      mkdirSync(dirname(join(other.path, name)), { recursive: true })
      const bytes = readFileSync(join(folder, name))
      if (name === TOKENIZER_FILE) bytes[5000]! ^= 1
      writeFileSync(join(other.path, name), bytes)
    }
    const { exitCode, stderr } = built(other.path)
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain(`${join(other.path, TOKENIZER_FILE)} is not the pinned file`)
    rmSync(join(other.path, MODEL_FILE))
    expect(built(other.path).stderr).toContain(" is missing")
  })
})
