/** opencode's hooks as our plugin calls them, with a database like its own: what is archived, given back, and told. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { called, OpencodeStore, said } from "../support/opencode-store.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(60_000))

let machine: Machine
let store: OpencodeStore
afterEach(() => {
  store.db.close()
  machine[Symbol.dispose]()
})

const begin = (): void => {
  machine = new Machine()
  // As late as an hour ago, so that what is written is whole.
  store = new OpencodeStore({
    data: join(machine.home, ".local/share"),
    cwd: machine.cwd,
    start: Date.now() - 3_600_000,
  })
}

/** One call as the plugin makes it: it must end well. */
async function call(event: string, fields: Record<string, unknown> = {}): Promise<string> {
  const told = { session_id: store.session, transcript_path: store.path, cwd: machine.cwd, ...fields }
  const { code, stdout, stderr } = await run(["hook", event, "opencode"], {
    cwd: machine.cwd,
    stdin: JSON.stringify(told),
    env: machine.env,
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout
}

/** Until the model is about to sum up. */
async function compacting(): Promise<string> {
  await call("user-prompt-submit", { prompt: "Why does the kiln overheat? Never touch the boiler." })
  store.prompt("Why does the kiln overheat? Never touch the boiler.")
  store.assistant([
    said("I look at the valve."),
    called("bash", { command: "npm test" }, "valve stuck\n", { exit: 1 }),
    called(
      "edit",
      { filePath: join(machine.cwd, "src/valve.ts"), oldString: "a", newString: "b" },
      "Edited.",
    ),
  ])
  store.user({ type: "compaction", auto: true, overflow: false })
  return store.begin({ mode: "compaction", agent: "compaction", summary: true })
}

test("a compaction is answered at once, with what its summary does not have and the prompt that waits", async () => {
  begin()
  const summary = await compacting()
  expect(await call("pre-compact", { trigger: "auto" })).toBe("")
  const last_assistant_message = "The edit of src/valve.ts is under way."
  const text = await call("session-start", { source: "compact", last_assistant_message })
  expect(text).toStartWith(`<ctxbridge-restore source="compact" session="${store.session}">`)
  expect(text).toContain("Why does the kiln overheat? Never touch the boiler.")
  expect(text).toContain("`npm test`")
  expect(text).not.toContain("Claude")
  expect(text.length).toBeLessThanOrEqual(4000)
  // Once.
  expect(await call("session-start", { source: "compact", last_assistant_message })).toBe("")
  store.part(summary, said(`${last_assistant_message}\n\n${text}`))
  store.finish(summary).answer("Mended.")
  expect(await call("stop")).toBe("")
  expect(await call("user-prompt-submit", { prompt: "Go on" })).toBe("")
  expect(await call("session-start", { source: "resume" })).toBe("")
  expect(await run(["verify"], { env: machine.env, cwd: machine.cwd })).toMatchObject({ code: 0 })
  const { stdout } = await run(["search", "Mended", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(JSON.parse(stdout).hits[0]).toMatchObject({ session: store.session, program: "opencode" })
  // What we have given is nobody's words.
  expect(
    (await run(["search", "Quoted from the archive"], { env: machine.env, cwd: machine.cwd })).code,
  ).toBe(3)
})

test("a compaction that could not be answered is answered at the next prompt", async () => {
  begin()
  const summary = await compacting()
  expect(await call("pre-compact", { trigger: "auto" })).toBe("")
  store.part(summary, said("The valve is looked at."))
  store.finish(summary).answer("Mended.")
  await call("stop")
  store.prompt("Go on")
  const text = await call("user-prompt-submit", { prompt: "Go on" })
  expect(text).toStartWith('<ctxbridge-restore source="compact"')
  expect(text).toContain("`npm test`")
  expect(await call("user-prompt-submit", { prompt: "Go on" })).toBe("")
})

test("compactions that no hook was told of, in lines that others have taken, are answered at the next prompt", async () => {
  begin()
  await call("user-prompt-submit", { prompt: "Why does the kiln overheat?" })
  store.prompt("Why does the kiln overheat? Never touch the boiler.")
  store.assistant([called("bash", { command: "npm test" }, "valve stuck\n", { exit: 1 })])
  store.answer("The valve sticks.")
  await call("stop")
  store.summary("Standing: Never touch the boiler. Seen: `npm test` fails.").answer("Going on.")
  expect(await run(["import"], { env: machine.env, cwd: machine.cwd })).toMatchObject({ code: 0 })
  const text = await call("user-prompt-submit", { prompt: "Go on" })
  expect(text).toStartWith('<ctxbridge-restore source="compact"')
  expect(text).toContain("valve stuck")
  // What the summary says need not be said again.
  expect(text).not.toContain("## Standing")
  store.prompt("Go on").answer("Gone on.")
  await call("stop")
  expect(await call("user-prompt-submit", { prompt: "And on" })).toBe("")
})

test("a new session is told where the last one was left; a subagent's is only archived", async () => {
  begin()
  store.prompt("Mend the valve").answer("Mended.")
  await call("stop")
  using next = new OpencodeStore({
    data: join(machine.home, ".local/share"),
    cwd: machine.cwd,
    session: "ses_0002next",
  })
  const about = { session_id: next.session, transcript_path: next.path }
  const told = await call("session-start", { ...about, source: "startup" })
  expect(told).toStartWith(`<ctxbridge-restore source="startup" session="${store.session}">`)
  expect(told).toContain("Mend the valve")
  using child = new OpencodeStore({
    data: join(machine.home, ".local/share"),
    cwd: machine.cwd,
    session: "ses_0003child",
    parent: store.session,
  })
  child.prompt("Look around").answer("Nothing.")
  const its = { session_id: child.session, transcript_path: child.path, agent_id: child.session }
  expect(await call("pre-compact", its)).toBe("")
  expect(existsSync(machine.copy(child.path))).toBe(true)
})

test("garbage, and a session that is not there, change nothing", async () => {
  begin()
  for (const document of ["", "no JSON", "[]", '{"session_id":"x","transcript_path":"/x.jsonl"}']) {
    const ran = await run(["hook", "stop", "opencode"], {
      stdin: document,
      env: machine.env,
      cwd: machine.cwd,
    })
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  }
  const path = store.path.replace(store.session, "ses_9999none")
  expect(
    await call("session-start", { session_id: "ses_9999none", transcript_path: path, source: "startup" }),
  ).toBe("")
  expect(existsSync(machine.copy(path))).toBe(false)
})

test("an install registers plugin and server, doctor mends them, and an uninstall leaves no trace", async () => {
  begin()
  const folder = join(machine.home, ".config/opencode")
  mkdirSync(folder, { recursive: true })
  const [config, plugin] = [join(folder, "opencode.jsonc"), join(folder, "plugins/ctxbridge.js")]
  const SETTINGS = '{\n  // mine\n  "model": "x/y",\n}\n'
  writeFileSync(config, SETTINGS)
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const told = async (...args: string[]): Promise<[string, string][]> =>
    JSON.parse((await cli("doctor", "--json", ...args)).stdout)
      .findings.filter(({ check }: { check: string }) => check === "opencode")
      .map(({ state, text }: { state: string; text: string }) => [state, text])
  expect((await told())[0]).toEqual(["skipped", "opencode: no plugin of ours is there"])
  const done = await cli("install", "--agent", "opencode", "--no-model")
  expect(done).toMatchObject({ code: 0, stderr: "" })
  expect(done.stdout).toContain(`opencode: registered in ${plugin}, ${config}\n`)
  expect(readFileSync(config, "utf8")).toContain("// mine")
  expect((await told()).slice(0, 2).map(([state]) => state)).toEqual(["ok", "ok"])
  expect((await cli("install", "--agent", "opencode", "--no-model")).stdout).toContain(
    "opencode: already registered\n",
  )
  writeFileSync(plugin, readFileSync(plugin, "utf8").replace("const SHORT = 5000", "const SHORT = 1"))
  expect((await told())[0]![0]).toBe("fail")
  expect((await told("--fix"))[0]![0]).toBe("ok")
  // One that the user has switched off stays so, and doctor says it.
  const sound = readFileSync(config, "utf8")
  const off = sound.replace('"enabled": true', '"enabled": false')
  writeFileSync(config, off)
  expect((await told())[1]).toEqual([
    "warn",
    `opencode: the server is registered in ${config}, and switched off`,
  ])
  expect((await cli("install", "--agent", "opencode", "--no-model")).stdout).toContain(
    "opencode: already registered\n",
  )
  expect((await told("--fix"))[1]![0]).toBe("warn")
  expect(readFileSync(config, "utf8")).toBe(off)
  writeFileSync(config, sound)
  expect((await cli("uninstall", "--agent", "opencode")).code).toBe(0)
  expect(readFileSync(config, "utf8")).toBe(SETTINGS)
  expect(existsSync(join(folder, "plugins"))).toBe(false)
  // Somebody else's plugin of that name is left alone.
  mkdirSync(join(folder, "plugins"))
  writeFileSync(plugin, "export const Other = async () => ({})\n")
  expect(await cli("install", "--agent", "opencode", "--no-model")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("it is another plugin"),
  })
  expect(readFileSync(config, "utf8")).toBe(SETTINGS)
})
