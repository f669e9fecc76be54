/** Words of a human between what the host puts around them. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { userTextParts } from "../../../src/transcript/user-text.ts"

const reminder = (text: string): string => `<system-reminder>${text}</system-reminder>`
const told = (text: string): [string, string][] =>
  userTextParts(text, "human").map((part) => [part.kind, "text" in part ? part.text : ""])

test("blocks of the host's before, between and behind a prompt are its own; the prompt is whole", () => {
  const words = fc.stringMatching(/^[a-z][a-z ]{0,20}[a-z]$/)
  fc.assert(
    fc.property(
      fc.array(words, { maxLength: 3 }),
      words,
      fc.array(words, { maxLength: 3 }),
      (before, prompt, after) => {
        const text = [...before.map(reminder), prompt, ...after.map(reminder)].join("\n")
        const prompts = told(text).filter(([kind]) => kind === "prompt")
        expect(prompts.map(([, said]) => said.trim())).toEqual([prompt])
        for (const [kind, said] of told(text))
          if (kind !== "prompt") expect(said).not.toContain(`\n${prompt}`)
        expect(told(text)).toHaveLength(before.length + 1 + after.length)
      },
    ),
    { numRuns: 100 },
  )
})

test("a closing tag that a block quotes does not end it", () => {
  const parts = told(`<system-reminder>see </system-reminder> there</system-reminder>\nfix it`)
  expect(parts.filter(([kind]) => kind === "prompt").map(([, said]) => said.trim())).toEqual(["fix it"])
})
