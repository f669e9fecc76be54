/** The plugin that an install writes, loaded as opencode loads it, with a program that tells what it was called with. */
import { afterAll, expect, test } from "bun:test"
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { OPENCODE_INSTALLER } from "../../../src/agents/install/opencode-install.ts"
import { resolvePlaces } from "../../../src/config/load.ts"
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
  const { Ctxbridge } = await import(file)
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
