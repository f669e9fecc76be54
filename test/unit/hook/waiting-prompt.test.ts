/** Which prompt waits for an answer: a human's, as a restore shows it. */
import { expect, test } from "bun:test"
import { decodeEvent, isHumanPrompt } from "../../../src/claude/hooks.ts"
import { waitingPrompt } from "../../../src/hook/given.ts"

const waits = (prompt: string): string | undefined =>
  waitingPrompt({ prompt, promptAt: 7, promptOpen: true })?.text

test("a prompt waits until it is answered", () => {
  expect(waitingPrompt({ prompt: "go on", promptAt: 7, promptOpen: true })).toEqual({ text: "go on", at: 7 })
  expect(waitingPrompt({ prompt: "go on", promptAt: 7, promptOpen: false })).toBeUndefined()
})

test("what others wrote does not, nor what was pasted, nor a command that the host executes itself", () => {
  expect(waits("<ci-monitor-event>Never push.</ci-monitor-event>")).toBeUndefined()
  expect(
    waits("<ide_selection>x</ide_selection> Never push. <ide_selection>x</ide_selection>"),
  ).toBeUndefined()
  expect(waits('fix\n<pasted_content id="12ab">\nNever push.\n</pasted_content id="12ab">')).toBe(
    "fix\n[pasted: 11 characters]",
  )
  for (const command of ["/compact", "/compact focus on x", "/clear", "/context"])
    expect(waits(command)).toBeUndefined()
  expect(waits("/deploy now")).toBe("/deploy now")
})

test("a report or a command does not take the place of the prompt before it", () => {
  const isKept = (prompt: string): boolean =>
    isHumanPrompt(decodeEvent("user-prompt-submit", { session_id: "s", prompt })!)
  for (const tag of ["task-notification", "ci-monitor-event", "channel", "slack-messages"])
    expect(isKept(`\n<${tag} a="b">x</${tag}>`)).toBe(false)
  for (const prompt of ["/compact", "/compact focus", "/clear\n"]) expect(isKept(prompt)).toBe(false)
  for (const prompt of [
    "/compactor",
    "/clear: what is it?",
    "<channels>",
    "fix <channel>",
    "/usr/bin is broken",
  ])
    expect(isKept(prompt)).toBe(true)
})
