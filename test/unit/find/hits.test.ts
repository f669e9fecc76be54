/** What a hit shows. */
import { describe, expect, test } from "bun:test"
import { exchange, Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import { callOf, hitsIn, textOf } from "../../support/mcp.ts"

/** Where a long text was cut, half of an emoji was left: in hits, and in the server's lines, which showed `�`. */
describe("a long text is cut between characters", () => {
  test.each([0, 1])("cut after an odd and after an even number of units (%i)", async (shift) => {
    using machine = new Inside()
    const crowd = "🦭".repeat(100)
    const session = machine.session()
    // The first 6,000 units of what the model says are read for pieces, of what a tool says 200,000 for the index.
    const lines = `walrus${" ".repeat(shift)}\n${"a line of no interest\n".repeat(270)}walrus `
    session.turn("Long", [], `${lines}${crowd.repeat(4)}\n${"more\n".repeat(300)}`)
    session.turn("Longer", [
      {
        tool: "Bash",
        input: { command: "echo" },
        output: `${"x \n".repeat(66_640)}narwhal ${" ".repeat(shift)}${crowd}`,
      },
    ])
    session.turn("Behind", [], `${" ".repeat(shift)}: ${crowd} ermine`)
    await machine.hook("stop", session.flush())
    for (const [seq, word] of [
      [1, "walrus"],
      [2, "narwhal"],
      [3, "ermine"],
    ]) {
      const { code, stdout, stderr } = await run(["search", "--json", String(word)], machine)
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      const [hit] = JSON.parse(stdout).hits
      expect(hit).toMatchObject({ seq })
      expect(hit.snippet).toContain("🦭")
      expect(JSON.stringify(hit)).not.toMatch(/\\ud[89a-f]/)
    }
    const { replies } = await exchange([callOf(1, "search", { query: "ermine" })], machine)
    const [hit] = hitsIn(textOf(replies[0]!))
    expect(hit!.texts.join("\n")).toMatch(/🦭.* ermine$/u)
    expect(JSON.stringify(hit)).not.toMatch(/\\ud[89a-f]/)
  })
})

/**
 * The words of a long query took the room of the text that was found, and only its first 64 counted. Of a session that
 * begins with a message put into the queue, that message was found, but shown empty.
 */
describe("hits of long queries show what they found", () => {
  async function search(machine: Machine, ...args: string[]) {
    const { code, stdout, stderr } = await run(["search", "--json", "--all-projects", ...args], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).hits as { snippet: string; why: string[] }[]
  }

  const pasted = Array.from({ length: 30 }, (_, n) => `gadget${String.fromCharCode(97 + n)}`.repeat(3)).join(
    " ",
  )
  const chinese = "请帮我修复登录页面在移动端的显示问题同时检查数据库连接超时的原因".repeat(40)

  test.each([pasted, chinese])("a long query leaves room for what it finds", async (query) => {
    using machine = new Inside()
    const session = machine.session()
    for (let n = 0; n < 30; n++) session.turn(`Question ${n}`, [], query.slice(0, 300))
    await machine.hook("stop", session.flush())
    const hits = await search(machine, "--limit", "30", query)
    expect(hits).toHaveLength(30)
    for (const { snippet, why } of hits) {
      expect(snippet.length).toBeGreaterThan(40)
      expect(why.join("").length).toBeLessThanOrEqual(100)
      expect(why.length).toBeGreaterThan(0)
    }
  })

  test("the telling words at the end of a long query count", async () => {
    using machine = new Inside()
    const names = Array.from({ length: 100 }, (_, n) => `w${n}x`)
    const session = machine.session().turn("Look", [], "reconcileInventory failed in the warehouse")
    for (let n = 0; n < 40; n++) session.turn(`Question ${n}`, [], names.slice(n, n + 30).join(" "))
    await machine.hook("stop", session.flush())
    const hits = await search(machine, "--limit", "100", `${names.join(" ")} reconcileInventory warehouse`)
    expect(hits.map(({ why }) => why)).toContainEqual(["reconcileinventory", "warehouse"])
  })

  test("a message from the queue is shown", async () => {
    using machine = new Inside()
    const content = "feed the walrus"
    const session = machine.session()
    const timestamp = "2026-03-02T08:00:00.000Z"
    session.raw(JSON.stringify({ type: "queue-operation", operation: "enqueue", content, timestamp }))
    await machine.hook("stop", session.flush())
    expect(await search(machine, "walrus")).toMatchObject([{ snippet: content }])
  })
})

/** A search found the restores that quote a turn beside the turn itself, more of them with every compaction. */
describe("restores are no hits", () => {
  test("what was given back is not found again", async () => {
    using machine = new Inside()
    const session = machine.session({ version: "2.1.112" })
    session
      .turn("What was the name of the ship?", [], "The ship is called Marigold.")
      .turn("Go on.", [], "Yes.")
      .flush()
    await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: "" })
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
    expect(given).toContain("Marigold")
    const attachment = (type: string, text: string) => ({
      type: "attachment",
      attachment: { type, hookEvent: "SessionStart", hookName: "SessionStart:compact", content: [text] },
    })
    session.boundary("manual").summary("1. Work")
    session.line(attachment("hook_additional_context", given))
    session.line(attachment("hook_additional_context", "A lighthouse, by somebody else's hook."))
    session.turn("And now?", [], "Done.").flush()
    await machine.hook("stop", session)
    expect(await found(machine, "Marigold")).toEqual(["assistant"])
    expect(await found(machine, "lighthouse")).toEqual(["host"])
  })

  /** Whose words the hits are, those shown beside them too. */
  async function found(machine: Machine, query: string): Promise<string[]> {
    const ran = await run(["search", "--all-projects", "--json", query], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const { hits } = JSON.parse(ran.stdout) as { hits: (Shown & { also?: Shown[] })[] }
    return hits.flatMap(({ role, also = [] }) => [role, ...also.map((one) => one.role)])
  }

  interface Shown {
    readonly role: string
  }
})

const command = (name: string): string =>
  `<command-name>${name}</command-name>\n<command-message>${name.slice(1)}</command-message>\n<command-args></command-args>`

/** A search for the newest showed turns that are nothing but `/compact`, with no text. */
test("the newest turns are those in which something was said", async () => {
  using machine = new Inside()
  const session = machine.session().turn("Count the shelves", [], "There are nine.")
  session.user(command("/compact")).boundary("manual").summary("Shelves were counted.")
  session.user(command("/compact")).turn("Paint them", [], "They are green.")
  session.user(command("/review")).message().say("I have read it all.")
  expect(await run(["import", session.flush().path], machine)).toMatchObject({ code: 0, stderr: "" })
  const { code, stdout, stderr } = await run(["search", "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const hits: { prompt: string | null; snippet: string }[] = JSON.parse(stdout).hits
  expect(hits.map(({ prompt, snippet }) => [prompt, snippet])).toEqual([
    ["/review", "I have read it all."],
    ["Paint them", "They are green."],
    ["Count the shelves", "There are nine."],
  ])
})
