/** The plugin that an install writes, loaded as opencode loads it, with a program that tells what it was called with. */
import { afterAll, expect, test } from "bun:test"
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { OPENCODE_INSTALLER } from "../../../src/agents/install/opencode-install.ts"
import { resolvePlaces } from "../../../src/config/load.ts"
import { until } from "../../support/machine.ts"
import { tempFolder } from "../../support/temp.ts"

const folder = tempFolder()
afterAll(() => folder[Symbol.dispose]())
const program = join(folder.path, "ctxbridge")
const calls = join(folder.path, "calls")
const file = join(folder.path, "plugin.js")
writeFileSync(
  program,
  `#!/bin/sh\nprintf "%s %s %s\\n" "$2" "$3" "$(cat)" >> ${calls}\n[ -e ${folder.path}/fails ] && exit 1\ncase "$2" in session-start|user-prompt-submit) echo "given at $2";; esac\n`,
)
chmodSync(program, 0o755)
const places = resolvePlaces({ HOME: folder.path })
writeFileSync(file, OPENCODE_INSTALLER.files(places, program)[0]!.add(undefined).text)

type Hooks = Record<string, (input: object, output: object) => Promise<void>>

/** @param sessions what opencode says of each: its parent, how many messages it has; undefined: it fails */
async function loaded(
  sessions: Record<string, { parentID?: string; messages: number; summary?: boolean } | undefined>,
  plugin = file,
) {
  const of = (id: string) => sessions[id] ?? Promise.reject(new Error("opencode has a fault"))
  const client = {
    session: {
      get: async ({ path }: { path: { id: string } }) => ({ data: await of(path.id) }),
      messages: async ({ path }: { path: { id: string } }) => ({ data: Array((await of(path.id)).messages) }),
      message: async ({ path }: { path: { id: string } }) => ({
        data: { info: { summary: (await of(path.id)).summary } },
      }),
    },
  }
  const { Ctxbridge } = await import(plugin)
  rmSync(calls, { force: true })
  return (await Ctxbridge({ client, directory: "/p" })) as Hooks
}

const called = (): { event: string; fields: Record<string, unknown> }[] =>
  readFileSync(calls, "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [event = "", agent, ...json] = line.split(" ")
      expect(agent).toBe("opencode")
      return { event, fields: JSON.parse(json.join(" ")) }
    })

const prompt = (text: string) => ({
  message: { id: "msg_1" },
  parts: [{ id: "prt_1", type: "text", text }] as object[],
})

test("a prompt is told, and what is given stands behind it; a new session is told where the last one was left", async () => {
  const hooks = await loaded({ ses_new: { messages: 0 }, ses_old: { messages: 3 } })
  const said = prompt("Mend it")
  await hooks["chat.message"]!({ sessionID: "ses_new" }, said)
  expect(said.parts.slice(1)).toEqual([
    {
      id: "prt_1z",
      sessionID: "ses_new",
      messageID: "msg_1",
      type: "text",
      synthetic: true,
      text: "given at user-prompt-submit",
    },
  ])
  await hooks["chat.message"]!({ sessionID: "ses_old" }, prompt("Go on"))
  await hooks["chat.message"]!({ sessionID: "ses_old" }, prompt("And on"))
  expect(
    called().map(({ event, fields }) => [event, fields["session_id"], fields["source"] ?? fields["prompt"]]),
  ).toEqual([
    ["session-start", "ses_new", "startup"],
    ["user-prompt-submit", "ses_new", "Mend it"],
    ["session-start", "ses_old", "resume"],
    ["user-prompt-submit", "ses_old", "Go on"],
    ["user-prompt-submit", "ses_old", "And on"],
  ])
  const system = ["You are opencode."]
  await hooks["experimental.chat.system.transform"]!({ sessionID: "ses_new" }, { system })
  expect(system).toEqual(["You are opencode.\n\ngiven at session-start"])
  const naming = ["You are a title generator."]
  await hooks["experimental.chat.system.transform"]!({ sessionID: "ses_new" }, { system: naming })
  expect(naming).toEqual(["You are a title generator."])
})

test("the summary of an announced compaction is answered, once, and no other text", async () => {
  const hooks = await loaded({
    ses_a: { messages: 3, summary: true },
    ses_b: { messages: 3, summary: false },
  })
  const completed = async (sessionID: string): Promise<string> => {
    const output = { text: "Words.\n" }
    await hooks["experimental.text.complete"]!({ sessionID, messageID: "m", partID: "p" }, output)
    return output.text
  }
  const announced = (sessionID: string) =>
    hooks["experimental.session.compacting"]!({ sessionID }, { context: [] })
  expect(await completed("ses_a")).toBe("Words.\n")
  await announced("ses_a")
  expect(await completed("ses_a")).toBe("Words.\n\ngiven at session-start")
  expect(await completed("ses_a")).toBe("Words.\n")
  await announced("ses_b")
  expect(await completed("ses_b")).toBe("Words.\n")
  await announced("ses_a")
  await hooks["event"]!({ event: { type: "session.error", properties: { sessionID: "ses_a" } } }, {})
  expect(await completed("ses_a")).toBe("Words.\n")
  expect(called()[1]).toMatchObject({
    event: "session-start",
    fields: { source: "compact", last_assistant_message: "Words.\n", cwd: "/p" },
  })
})

test("a session that another one has started is archived, and given nothing", async () => {
  const hooks = await loaded({ ses_c: { parentID: "ses_p", messages: 0 } })
  const said = prompt("Look")
  await hooks["chat.message"]!({ sessionID: "ses_c" }, said)
  expect(said.parts).toHaveLength(1)
  await hooks["experimental.session.compacting"]!({ sessionID: "ses_c" }, {})
  const output = { text: "Words." }
  await hooks["experimental.text.complete"]!({ sessionID: "ses_c" }, output)
  expect(output.text).toBe("Words.")
  expect(called()).toMatchObject([{ event: "pre-compact", fields: { agent_id: "ses_c" } }])
})

/** A plugin of this test's own: what its program does, and how long that may take in ms. */
async function withProgram(lines: readonly string[], limit = 60_000) {
  const [own, itsProgram] = [join(folder.path, `${++count}.js`), join(folder.path, `${count}/ctxbridge`)]
  mkdirSync(join(folder.path, `${count}`))
  writeFileSync(itsProgram, ["#!/bin/sh", ...lines, ""].join("\n"), { mode: 0o755 })
  const { text } = OPENCODE_INSTALLER.files(places, itsProgram)[0]!.add(undefined)
  writeFileSync(own, text.replace(/(?<=const (?:SHORT|LONG) = )\d+/g, `${limit}`))
  return await loaded({ ses_a: { messages: 3 }, ses_b: { messages: 3 } }, own)
}
let count = 0

const idle = (sessionID: string) => ({ event: { type: "session.idle", properties: { sessionID } } })

test("what comes after a session has stopped is told after that, and keeps no other session waiting", async () => {
  const [held, log] = [join(folder.path, "held"), join(folder.path, "log")]
  expect(Bun.spawnSync(["mkfifo", held]).exitCode).toBe(0)
  const hooks = await withProgram([
    "words=$(cat)",
    `case "$2" in stop) cat ${held} > /dev/null;; esac`,
    `case "$words" in *ses_a*) echo "a $2" >> ${log};; *) echo "b $2" >> ${log};; esac`,
  ])
  await hooks["event"]!(idle("ses_a"), {})
  const next = hooks["chat.message"]!({ sessionID: "ses_a" }, prompt("Go on"))
  await hooks["chat.message"]!({ sessionID: "ses_b" }, prompt("Go on"))
  expect(readFileSync(log, "utf8")).toBe("b session-start\nb user-prompt-submit\n")
  writeFileSync(held, "")
  await next
  expect(readFileSync(log, "utf8")).toEndWith("a stop\na session-start\na user-prompt-submit\n")
})

test("a hook that hangs is killed with what it has started, and opencode goes on", async () => {
  const pids = join(folder.path, "pids")
  const hooks = await withProgram([`sleep 600 & echo $$ $! >> ${pids}`, "wait"], 200)
  const said = prompt("Go on")
  await hooks["event"]!(idle("ses_a"), {})
  await hooks["chat.message"]!({ sessionID: "ses_a" }, said)
  expect(said.parts).toHaveLength(1)
  const started = readFileSync(pids, "utf8").trim().split(/\s+/).map(Number)
  // Those of a stop, a start and a prompt.
  expect(started).toHaveLength(6)
  await until(() => started.every((pid) => !isAlive(pid)), 10_000, "the end of what hangs")
})

/** Whether it does anything: what was killed may wait for somebody to take note of it. */
function isAlive(pid: number): boolean {
  const { stdout } = Bun.spawnSync(["ps", "-o", "stat=", "-p", `${pid}`])
  const stat = stdout.toString().trim()
  return stat !== "" && !stat.startsWith("Z")
}

test("whatever fails, opencode hears nothing of it", async () => {
  writeFileSync(join(folder.path, "fails"), "")
  const hooks = await loaded({ ses_x: undefined })
  for (const work of Object.values(hooks))
    for (const [input, output] of [
      [
        { sessionID: "ses_x", event: { type: "session.idle", properties: { sessionID: "ses_x" } } },
        prompt("x"),
      ],
      [{ event: {} }, { message: {}, parts: [], system: [] }],
      [undefined, undefined],
    ] as [object, object][])
      expect(await work(input, output)).toBeUndefined()
  rmSync(program)
  expect(await loaded({})).toEqual({})
})
