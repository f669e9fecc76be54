/**
 * A waiting prompt that was cut just behind a line break got its mark on a line outside the quotation, which stayed there
 * when the prompt was left out of the restore given again.
 */
import { expect, test } from "bun:test"
import { withoutPending } from "../../src/restore/render.ts"
import { contextOf, Machine } from "../support/machine.ts"

test("wherever it is cut, the prompt is quoted as a whole", async () => {
  using machine = new Machine()
  machine.env["CTXBRIDGE_RESTORE_BUDGET"] = "700"
  for (let n = 0; n < 7; n++) {
    const session = machine.session().turn("Look").flush()
    const prompt = `${"x".repeat(230 + n)}\n${"line\n\n".repeat(60)}`
    await machine.hook("user-prompt-submit", session, { prompt })
    await machine.hook("pre-compact", session, { trigger: "auto" })
    const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
    expect(given.split("\n").filter((line) => line.includes("(cut)"))).toEqual([
      expect.stringMatching(/^> [xline]+ … \(cut\)$/),
    ])
    expect(withoutPending(given)).not.toContain("(cut)")
  }
})
