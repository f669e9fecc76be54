/** Prompts that waited in the host's queue. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"

setDefaultTimeout(60_000)

/**
 * A prompt that had waited in the host's queue was found twice: in its own turn, and in the one during which it was put
 * there, along with the answer to another prompt. Hosts run by programs put each prompt into the queue.
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
