/** What was recognised as a secret once in a session is filled wherever it occurs in it. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { KEY_KINDS, leftOf, WRAPPINGS } from "../support/key-wrappings.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { Noise } from "../support/planted.ts"
import { limit } from "../support/slowness.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const VALUE = "zebra-Kafe71-quilt"
const ENV = `# settings\nDB_PASSWORD=${VALUE}\nPORT=8080\n`
const BARE = `The login was ${VALUE}, it says.`
const STARS = "*".repeat(VALUE.length)
const FORMS: Readonly<Record<string, string>> = {
  bare: `say ${VALUE}.`,
  "within another word": `xx${VALUE}yy`,
  base64: Buffer.from(`ab${VALUE}cdef`).toString("base64"),
  "JSON in JSON": JSON.stringify(JSON.stringify({ said: VALUE })),
}

/** Every file of ours, those of the vault as what they hold. */
function everything(machine: Machine): { file: string; text: string }[] {
  return readdirSync(machine.root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.startsWith(machine.home))
    .flatMap((file) => {
      try {
        const raw = { file, text: readFileSync(file, "latin1") }
        return file.endsWith(".zst") ? [raw, { file, text: contentOf(file).toString("latin1") }] : [raw]
      } catch (error) {
        // The job has removed it meanwhile.
        if (existsSync(file)) throw error
        return []
      }
    })
}

const CODED = [0, 1, 2].map((before) =>
  Buffer.from(`${"x".repeat(before)}${VALUE}`)
    .toString("base64")
    .slice(before === 0 ? 0 : before + 1, -3),
)

const leaks = (machine: Machine): string[] =>
  everything(machine)
    .filter(({ text }) => [VALUE, ...CODED].some((form) => text.includes(form)))
    .map(({ file }) => file.slice(machine.root.length))

const words = (machine: Machine, transcript: Transcript): string =>
  contentOf(machine.copy(transcript.path)).toString("latin1")

async function call(machine: Machine, session: Transcript, prompt?: string): Promise<void> {
  const ran =
    prompt === undefined
      ? await machine.hook("stop", session)
      : await machine.hook("user-prompt-submit", session, { prompt })
  expect(ran).toMatchObject({ code: 0, stderr: "", stdout: "" })
}

async function verified(machine: Machine): Promise<void> {
  const { code, stderr } = await run(["verify"], { env: machine.env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
}

/** A subagent's transcript of a session. */
function subagent(machine: Machine, session: Transcript, agent: string): Transcript {
  const path = machine.path(join(session.session, "subagents", `agent-${agent}.jsonl`))
  return new Transcript({ session: session.session, cwd: machine.cwd, version: "2.1.112", path, agent })
}

const reading = (output: string) => [{ tool: "Bash", input: { command: "cat .env" }, output }]

test("recognised first: what comes later is filled at once", async () => {
  using machine = new Machine()
  const session = machine.session().turn("look", reading(ENV)).flush()
  await call(machine, session)
  for (const [name, text] of Object.entries(FORMS)) {
    session.turn(`${name}: ${text}`).flush()
    await call(machine, session)
    expect({ name, leaks: leaks(machine) }).toEqual({ name, leaks: [] })
  }
  await call(machine, session, `what is ${VALUE}?`)
  expect(leaks(machine)).toEqual([])
  await machine.idle()
  expect(leaks(machine)).toEqual([])
  expect(words(machine, session)).toContain(`say ${STARS}.`)
  expect(words(machine, session)).toHaveLength(readFileSync(session.path).length)
  await verified(machine)
})

test("recognised last: what came before is filled by the job, everywhere", async () => {
  using machine = new Machine()
  const session = machine.session()
  await machine.hook("session-start", session, { source: "startup" })
  await call(machine, session, BARE)
  session.turn(BARE).flush()
  const agent = subagent(machine, session, "a1")
  mkdirSync(dirname(agent.path), { recursive: true })
  agent.turn(BARE).flush()
  await machine.hook("subagent-stop", session, {
    agent_id: "a1",
    agent_type: "x",
    agent_transcript_path: agent.path,
  })
  await call(machine, session)
  // The views have it, too.
  await run(["sessions"], { env: machine.env, cwd: machine.cwd })
  expect(leaks(machine).length).toBeGreaterThan(2)
  session.turn("look", reading(ENV)).flush()
  await call(machine, session)
  await machine.idle()
  expect(leaks(machine)).toEqual([])
  for (const one of [session, agent]) {
    expect(words(machine, one)).toContain(`The login was ${STARS}, it says.`)
    expect(words(machine, one)).toHaveLength(readFileSync(one.path).length)
  }
  const found = await run(["search", "login", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(found.stdout).toContain(`login was ${STARS}`)
  await verified(machine)
  const again = words(machine, session)
  await call(machine, session)
  await machine.idle()
  expect(words(machine, session)).toBe(again)
})

describe("however lines are split over hooks, and in an import", () => {
  const write = (machine: Machine): { lines: string[]; session: Transcript } => {
    const session = machine.session()
    session
      .turn(BARE)
      .turn("look", reading(ENV))
      .turn(`again ${VALUE}`)
      .turn("more", reading(`${ENV}API_TOKEN=q8ZkT5v2WmXc7RbN4pLs\n`))
      .turn(`${VALUE}q8ZkT5v2WmXc7RbN4pLs and \`${VALUE}\``)
    const lines = session.text
      .split("\n")
      .slice(0, -1)
      .map((line) => `${line}\n`)
    mkdirSync(dirname(session.path), { recursive: true })
    return { lines, session }
  }

  test("the archive is the same", async () => {
    using imported = new Machine()
    const first = write(imported)
    writeFileSync(first.session.path, first.lines.join(""))
    const ran = await run(["import"], { env: imported.env, cwd: imported.cwd })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    await imported.idle()
    expect(leaks(imported)).toEqual([])
    const wanted = words(imported, first.session).replaceAll(imported.root, "")
    expect(wanted).not.toContain("q8ZkT5v2WmXc7RbN4pLs")
    for (const at of first.lines.keys()) {
      using machine = new Machine()
      const { lines, session } = write(machine)
      for (const part of [lines.slice(0, at), lines.slice(at)]) {
        writeFileSync(session.path, part.join(""), { flag: "a" })
        await call(machine, session)
      }
      await machine.idle()
      expect(words(machine, session).replaceAll(machine.root, "")).toBe(wanted)
      expect(leaks(machine)).toEqual([])
    }
  })
})

test("a value of the session is filled in its subagents, and the other way round", async () => {
  using machine = new Machine()
  const session = machine.session().turn("look", reading(ENV)).flush()
  await call(machine, session)
  const agent = subagent(machine, session, "b2")
  mkdirSync(dirname(agent.path), { recursive: true })
  agent.turn(`${BARE}`, reading("SECRET_KEY='uX4-vinegar-Tram88'\n")).flush()
  const fields = { agent_id: "b2", agent_type: "x", agent_transcript_path: agent.path }
  await machine.hook("subagent-stop", session, fields)
  expect(leaks(machine)).toEqual([])
  session.turn("it says uX4-vinegar-Tram88").flush()
  await call(machine, session)
  await machine.idle()
  expect(words(machine, session)).not.toContain("vinegar")
  await verified(machine)
})

test("what the session's new bytes show is filled in the subagent's, also when one hook brings both", async () => {
  using machine = new Machine()
  const session = machine.session().turn("look", reading(ENV)).flush()
  const agent = subagent(machine, session, "c3")
  mkdirSync(dirname(agent.path), { recursive: true })
  agent.turn(BARE).flush()
  const fields = { agent_id: "c3", agent_type: "x", agent_transcript_path: agent.path }
  await machine.hook("subagent-stop", session, fields)
  expect(words(machine, agent)).toContain(`The login was ${STARS}, it says.`)
})

test("a line forgotten before more was recognised stays forgotten", async () => {
  using machine = new Machine()
  const session = machine.session().turn(`unspeakable ${VALUE} thing`).turn("other").flush()
  await call(machine, session)
  await machine.idle()
  const options = { env: machine.env, cwd: machine.cwd }
  expect(await run(["forget", "--match", "unspeakable", "--yes"], options)).toMatchObject({ code: 0 })
  session.turn("look", reading(ENV)).flush()
  await call(machine, session)
  await machine.idle()
  expect(leaks(machine)).toEqual([])
  await verified(machine)
  // Everything is read again, under the tombstones.
  for (const entry of readdirSync(join(machine.dataHome, "vault"), { recursive: true, withFileTypes: true }))
    if (entry.isFile()) writeFileSync(join(entry.parentPath, entry.name), "")
  expect(await run(["import", "--check"], options)).toMatchObject({ code: 0, stderr: "" })
  await machine.idle()
  expect(words(machine, session)).not.toContain("unspeakable")
  expect(leaks(machine)).toEqual([])
  await verified(machine)
})

test("words, numbers and names of records are not taken for secrets elsewhere", async () => {
  using machine = new Machine()
  const session = machine.session()
  const plain = ["password", "administrator", "127.0.0.1:8080", session.session]
  for (const one of plain) session.turn("look", reading(`PASSWORD="${one}"\nSECRET_TOKEN=${one}\n`))
  session.turn(plain.join(" and ")).flush()
  await call(machine, session)
  await machine.idle()
  expect(words(machine, session)).toContain(plain.join(" and "))
})

test("what hooks had to write elsewhere is known when it is back", async () => {
  using machine = new Machine()
  const session = machine.session().turn(BARE).flush()
  await call(machine, session)
  await machine.idle()
  const vault = join(machine.dataHome, "vault")
  renameSync(vault, `${vault}.away`)
  // No folder can be made where a file is.
  writeFileSync(vault, "")
  session.turn("look", reading(ENV)).flush()
  await call(machine, session)
  await machine.idle()
  rmSync(vault)
  renameSync(`${vault}.away`, vault)
  rmSync(join(machine.dataHome, "known"), { recursive: true, force: true })
  await machine.hook("session-start", session, { source: "resume" })
  await machine.idle()
  expect(leaks(machine)).toEqual([])
  expect(words(machine, session)).toHaveLength(readFileSync(session.path).length)
  await verified(machine)
})

test("former copies of a transcript that was rewritten are searched, too", async () => {
  using machine = new Machine()
  const session = machine.session().turn(BARE).flush()
  await call(machine, session)
  await machine.idle()
  rmSync(session.path)
  session.turn("another beginning", reading(ENV)).flush()
  await call(machine, session)
  await machine.idle()
  expect(everything(machine).some(({ file }) => file.includes(".~1."))).toBe(true)
  expect(leaks(machine)).toEqual([])
  await verified(machine)
})

test("values of megabytes of lines, in one hook", async () => {
  using machine = new Machine()
  const session = machine.session()
  for (let n = 0; n < 40; n++) session.turn(`${n} ${VALUE} ${"some words ".repeat(3000)}`)
  session.turn("look", reading(ENV)).flush()
  await call(machine, session)
  await machine.idle()
  expect(leaks(machine)).toEqual([])
  await verified(machine)
})

test("forgetting a session leaves nothing of what is known about it", async () => {
  using machine = new Machine()
  const session = machine.session().turn("look", reading(ENV)).flush()
  await call(machine, session)
  await machine.idle()
  const kept = (): string[] =>
    everything(machine).flatMap(({ file }) => (file.includes("/known/") ? [file] : []))
  expect(kept()).toHaveLength(2)
  const options = { env: machine.env, cwd: machine.cwd }
  expect(await run(["forget", session.session, "--yes"], options)).toMatchObject({ code: 0 })
  expect(kept()).toEqual([])
})

test("what is written back from the archive teaches nothing", async () => {
  using machine = new Machine()
  const session = machine.session().turn("look", reading(ENV)).flush()
  await call(machine, session)
  await machine.idle()
  rmSync(session.path)
  const options = { env: machine.env, cwd: machine.cwd }
  expect(await run(["resurrect", session.session], options)).toMatchObject({ code: 0 })
  session.turn(`${STARS} and stars`).flush()
  await call(machine, session)
  await machine.idle()
  expect(words(machine, session)).toContain("and stars")
  await verified(machine)
})

test("redact: what newer rules would recognise is filled in the whole session", async () => {
  using machine = new Machine()
  const session = machine.session().turn(BARE).turn("look", reading(ENV)).flush()
  const off = { env: { CTXBRIDGE_SECRETS: "off" } }
  expect(await machine.hook("stop", session, {}, off)).toMatchObject({ code: 0, stderr: "" })
  await machine.idle()
  expect(leaks(machine).length).toBeGreaterThan(0)
  const options = { env: machine.env, cwd: machine.cwd }
  const done = await run(["redact", "--json"], options)
  expect(done).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(done.stdout).knownBytes).toBeGreaterThan(0)
  expect(leaks(machine)).toEqual([])
  await verified(machine)
})

/**
 * Of a private key, a session mostly sees parts later: a hunk of a patch, some lines of a file. Nothing in them says what
 * they are.
 */
describe("the lines of a private key", () => {
  const [, makeKey] = KEY_KINDS.find(([name]) => name === "RSA")!
  const key = makeKey(new Noise(4))
  const part = key.secret.slice(9, 13)
  const whole = key.lines.join("\n")

  const leftIn = (machine: Machine): string[] =>
    everything(machine).flatMap(({ file, text }) =>
      leftOf(text, key.secret).map((line) => `${file.slice(machine.root.length)}: ${line}`),
    )

  function hunk(session: Transcript): Transcript {
    return session.line({
      type: "user",
      message: { role: "user", content: "go on" },
      toolUseResult: {
        filePath: "/src/shop/site.conf",
        structuredPatch: [
          { oldStart: 9, oldLines: 4, newStart: 9, newLines: 4, lines: part.map((one) => ` ${one}`) },
        ],
      },
    })
  }

  test("seen before or after it, in whatever wraps them, are filled with it", async () => {
    using machine = new Machine()
    const session = hunk(machine.session().turn(`Lines 9 to 12:\n${part.join("\n")}`)).flush()
    await call(machine, session)
    await machine.idle()
    expect(leftIn(machine)).not.toEqual([])
    session.turn("look", [{ tool: "Bash", input: { command: "cat site.pem" }, output: whole }]).flush()
    await call(machine, session)
    await machine.idle()
    expect(leftIn(machine)).toEqual([])
    hunk(session).flush()
    // What takes a line apart, or encodes all of them, leaves no line to be known by.
    for (const [name, wrap] of WRAPPINGS.filter(
      ([name]) => !/narrow|no breaks|base64|everywhere|everything|within a line|in an address/.test(name),
    ))
      session.turn(name, [{ tool: "Bash", input: { command: "print" }, output: wrap(part) }])
    session.flush()
    await call(machine, session)
    await call(machine, session, `Is ${part[1]} a line of it?`)
    expect(leftIn(machine)).toEqual([])
    await machine.idle()
    expect(leftIn(machine)).toEqual([])
    expect(words(machine, session)).toHaveLength(readFileSync(session.path).length)
    await verified(machine)
  })

  test("archived by older rules are filled by redact, in vault and views", async () => {
    using machine = new Machine()
    const options = { env: machine.env, cwd: machine.cwd }
    const session = hunk(machine.session())
    for (const [name, wrap] of WRAPPINGS)
      session.turn(name, [{ tool: "Bash", input: { command: "print" }, output: wrap(key.lines) }])
    session.flush()
    const off = { ...machine.env, CTXBRIDGE_SECRETS: "off" }
    expect(await run(["import"], { ...options, env: off })).toMatchObject({ code: 0, stderr: "" })
    expect(leftIn(machine)).not.toEqual([])
    const tried = await run(["redact", "--rescan", "--dry-run", "--json"], options)
    expect(tried).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(tried.stdout).filledBytes).toBeGreaterThan(60_000)
    expect(leftIn(machine)).not.toEqual([])
    expect(await run(["redact", "--rescan"], options)).toMatchObject({ code: 0, stderr: "" })
    expect(leftIn(machine)).toEqual([])
    expect(words(machine, session)).toHaveLength(readFileSync(session.path).length)
    await verified(machine)
    expect((await run(["redact", "--rescan"], options)).stdout).toContain("Nothing to overwrite")
  })
})
